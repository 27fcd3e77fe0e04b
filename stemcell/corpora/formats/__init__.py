"""One module a file format: each has ``read(path, report, ...)`` to examples by layer, and ``write``."""
