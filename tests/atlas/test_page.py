"""The atlas in a real browser, without a window."""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemcell.atlas.page import atlas_page
from tests.atlas.conftest import CLOSED, HOSTILE, REMOVED, Case
from tests.encoders.small import HEADS, LAYERS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
GRID = "#grid .cell"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(
            f"no browser: none of {', '.join(BROWSERS)} is on the PATH; install one, as with: apt-get install chromium"
        )
    # As root, as in a container, Chromium runs without its sandbox only.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=found, args=options)
        yield own
        own.close()


def test_a_missing_browser_is_said(pytestconfig: pytest.Config) -> None:
    assert "s" in pytestconfig.getoption("reportchars"), "skipped tests are to be named in pytest's summary"


@pytest.fixture(scope="module")
def file(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    path.write_text(atlas_page(f"small {HOSTILE}", case.probed, case.layers), "utf-8")
    return path


class Seen:
    """A page with what it has said and asked for."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, file: Path, fragment: str = "") -> Any:
        self.page.goto(file.as_uri() + fragment)
        return self.page

    def quiet(self) -> None:
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(("file:", "about:", "data:"))] == []


@pytest.fixture
def seen(browser: Any) -> Iterator[Seen]:
    own = Seen(browser, viewport={"width": 1200, "height": 900})
    yield own
    own.page.close()


def choose(page: Any, task: str, label: str) -> None:
    page.select_option("#task", task)
    texts = page.locator("#label option").all_text_contents()
    page.select_option("#label", index=next(i for i, text in enumerate(texts) if text.rsplit(" (", 1)[0] == label))


def expected(case: Case, task: str, label: str, mode: str, measure: str) -> np.ndarray:
    rows = case.probed.cells.query("task == @task and label == @label and mode == @mode")
    return rows.sort_values(["layer", "head"])[measure].to_numpy()


def shown(page: Any) -> list[str]:
    """Texts of the cells, by layer from 1 and head."""
    cells = page.eval_on_selector_all(GRID, "cells => cells.map((cell) => [cell.dataset.head, cell.textContent])")
    return [text for _, text in sorted(cells, key=lambda cell: int(cell[0]))]


def in_percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{round(value * 100)}".replace("-", "−")


@pytest.mark.parametrize(
    ("task", "label", "mode", "measure"),
    [
        ("dep", "nsubj", "link", "score"),
        ("dep", "nsubj", "link", "selectivity"),
        ("srl", "AM-TMP", "link", "score"),
        ("ner", "PER", "train-split", "score"),
        ("pos", "NN", "same-split", "score"),
        ("pos", HOSTILE, "train-split", "score"),
    ],
)
def test_the_scores_of_a_label(
    seen: Seen, file: Path, case: Case, task: str, label: str, mode: str, measure: str
) -> None:
    page = seen.open(file)
    choose(page, task, label)
    if mode != "link":
        page.select_option("#mode", mode)
    page.select_option("#measure", measure)
    values = expected(case, task, label, mode, measure)
    got = shown(page)
    assert len(got) == LAYERS * HEADS
    for text, value in zip(got, values, strict=True):
        # What lies between two numbers may be rounded to either.
        assert text in {in_percent(value - 1e-4), in_percent(value), in_percent(value + 1e-4)}
    assert label in page.text_content("#says")
    seen.quiet()


def test_layer_one_is_at_the_bottom(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    first, last = (page.locator(f'[data-head="{head}"]').bounding_box() for head in (0, LAYERS * HEADS - 1))
    assert first["y"] > last["y"]
    assert first["x"] < last["x"]


def test_missing_and_closed_heads_are_absent_not_zero(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    for head, why in ((REMOVED, "removed"), (CLOSED, "closed by its gate")):
        cell = page.locator(f'[data-head="{head}"]')
        assert cell.text_content() == "–"
        assert why in cell.get_attribute("aria-label")
        assert "gone" in cell.get_attribute("class")
    page.click(f'[data-head="{REMOVED}"]')
    assert "removed" in page.text_content("#state")
    page.click(f'[data-head="{CLOSED}"]')
    assert "Closed by its gate" in page.text_content("#state")
    page.select_option("#measure", "gate")
    got = shown(page)
    assert (got[REMOVED], got[CLOSED]) == ("–", "0")
    assert int(got[0]) > 10
    seen.quiet()


def test_a_head_shows_its_labels_with_interval_control_and_rank(seen: Seen, file: Path, case: Case) -> None:
    page = seen.open(file)
    page.fill("#least", "1")
    page.press("#least", "Enter")
    page.click('[data-head="0"]')
    if page.is_visible("#more"):
        page.click("#more")
    rows = page.eval_on_selector_all(
        "#known tbody tr",
        "rows => rows.map((row) => [...row.cells].map((cell) => [...cell.childNodes].map((n) => n.textContent)))",
    )
    told = {(label[0], label[1].split(",")[0].lower()): others for label, *others in rows}
    score, selectivity, gain, rank = told["nsubj", "dep"]
    row = case.probed.cells.query("task == 'dep' and label == 'nsubj' and layer == 1 and head == 1").iloc[0]
    about = case.probed.labels.query("task == 'dep' and label == 'nsubj'").iloc[0]
    numbers = [score[0], *score[1].split("–"), selectivity[0], selectivity[1], gain[0], gain[1]]
    exact = [row.score, row.low, row.high, row.selectivity, row.control, row.score - about.baseline_score,
             about.baseline_score]  # fmt: skip
    np.testing.assert_allclose([float(text.replace("−", "-")) for text in numbers], np.array(exact) * 100, atol=0.07)
    others = expected(case, "dep", "nsubj", "link", "score")
    assert rank == [str(1 + int((others > row.score).sum()))]


def test_the_best_heads_and_baselines_of_a_label(seen: Seen, file: Path, case: Case) -> None:
    page = seen.open(file)
    choose(page, "dep", "nsubj")
    best = case.probed.labels.query("task == 'dep' and label == 'nsubj'").iloc[0]
    facts = page.text_content("#facts")
    assert f"layer {best.best_layer}, head {best.best_head} {best.best_score * 100:.1f}" in facts
    assert f"{best.baseline} {best.baseline_score * 100:.1f}" in facts
    page.click("#facts .link >> nth=0")
    assert page.text_content("#name") == f"Layer {best.best_layer}, head {best.best_head}"


def test_attention_of_a_word(seen: Seen, file: Path, case: Case) -> None:
    from stemcell.atlas.examples import attend

    page = seen.open(file)
    page.click('[data-head="1"]')
    words = tuple(page.locator("#sentences li >> nth=0").locator(".word").all_text_contents()[1:-1])
    page.click("#sentences li >> nth=0 >> .word >> nth=2")
    said = page.text_content("#sentences li >> nth=0 >> .said")
    row = attend(case.probed.target, words, "pos")[1, 2]
    assert said.startswith(f"{words[1]} → ")
    assert f"{page.evaluate('[data.root, ...data.sentences[0].words, data.end]')[int(row.argmax())]} " in said
    assert f"{row.max() * 100:.0f}%" in said or f"{row.max() * 100 - 0.2:.0f}%" in said
    page.check('[name="direction"][value="to"]')
    page.click("#sentences li >> nth=0 >> .word >> nth=2")
    assert page.text_content("#sentences li >> nth=0 >> .said").startswith(f"{words[1]} ← ")


def test_sentences_that_have_the_label_come_first_with_its_words_marked(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    choose(page, "pos", HOSTILE)
    first = page.locator("#sentences li >> nth=0").locator(".word.target").all_text_contents()
    assert first == ["``"]


def test_by_keyboard_alone(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    page.focus("#least")
    page.keyboard.press("Tab")
    focused = "document.activeElement.dataset.head"
    start = int(page.evaluate(focused))
    page.keyboard.press("Home")
    while page.evaluate(focused) != "0":
        page.keyboard.press("ArrowDown")
    assert start >= 0
    for key, head in (("ArrowRight", 1), ("ArrowUp", 1 + HEADS), ("End", 2 * HEADS - 1), ("ArrowRight", 2 * HEADS - 1),
                      ("Home", HEADS), ("ArrowLeft", HEADS), ("ArrowDown", 0), ("ArrowDown", 0)):  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(focused) == str(head)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.text_content("#name") == "Layer 1, head 2"
    assert page.get_attribute('[data-head="1"]', "aria-selected") == "true"
    assert page.evaluate(focused) == "1"
    assert page.locator(f'{GRID}[tabindex="0"]').count() == 1
    # Onwards to all that is left, each with a name; a sentence is one stop.
    stops = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        stops.add(page.evaluate("document.activeElement.closest('dl, table, button#more, fieldset, #sentences')?.id"))
    assert {"facts", "known", "direction", "sentences"} <= stops
    page.focus("#sentences .word[tabindex='0'] >> nth=0")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.classList.contains('chosen')")
    seen.quiet()


def test_roles_and_names(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    grid = page.get_by_role("grid")
    assert grid.get_by_role("row").count() == LAYERS + 1
    assert grid.get_by_role("gridcell").count() == LAYERS * HEADS
    assert page.get_by_role("gridcell", name="layer 1, head 1: ").count() == 1
    for name in ("Task", "Label", "Colour"):
        assert page.get_by_role("combobox", name=name).count() == 1


@pytest.mark.parametrize("width", [320, 360])
def test_a_phone_scrolls_in_one_direction_only(browser: Any, file: Path, width: int) -> None:
    seen = Seen(browser, viewport={"width": width, "height": 780}, has_touch=True)
    page = seen.open(file)
    for task, label in (("pos", HOSTILE), ("dep", "nsubj")):
        choose(page, task, label)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#known").bounding_box()["width"] <= width
    page.tap('[data-head="1"]')
    assert page.text_content("#name") == "Layer 1, head 2"
    seen.quiet()
    seen.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(browser: Any, file: Path, scheme: str) -> None:
    seen = Seen(browser, color_scheme=scheme)
    page = seen.open(file)
    # A canvas turns whatever a colour is written as into its parts.
    pairs = page.evaluate("""() => {
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
          .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const page = getComputedStyle(document.body).backgroundColor;
      return [...document.querySelectorAll("body, .cell:not(.gone), .word, #axis, dt, td small")].map((node) => {
        const style = getComputedStyle(node), own = style.backgroundColor;
        return [light(own === "rgba(0, 0, 0, 0)" ? page : own), light(style.color)];
      });
    }""")
    assert (pairs[0][0] < 0.05) == (scheme == "dark")
    contrasts = [(max(pair) + 0.05) / (min(pair) + 0.05) for pair in pairs]
    assert min(contrasts) >= 4.5
    seen.page.close()


def test_labels_are_text(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    choose(page, "pos", HOSTILE)
    assert HOSTILE in page.text_content("h1")
    assert HOSTILE in page.title()
    assert page.locator("b").filter(has_text="&").count() == 0
    assert page.locator("body > script").count() == 2
    seen.quiet()


def test_a_choice_can_be_linked(seen: Seen, file: Path) -> None:
    page = seen.open(file)
    choose(page, "pos", HOSTILE)
    page.click('[data-head="5"]')
    fragment = page.evaluate("location.hash")
    says = page.text_content("#says")
    page.goto("about:blank")
    page = seen.open(file, fragment)
    assert (page.text_content("#says"), page.text_content("#name")) == (says, "Layer 2, head 2")
    seen.open(file, "#task=none&label=none&head=99-99&least=-4&measure=none&mode=none")
    page.reload()
    assert page.locator(GRID).count() == LAYERS * HEADS
    seen.quiet()


@pytest.mark.parametrize("inside", ["srcdoc", "src"])
def test_in_a_sandboxed_frame(seen: Seen, file: Path, tmp_path: Path, inside: str) -> None:
    """As MLflow shows an artifact: without storage, history or an origin."""
    value = html.escape(file.read_text("utf-8")) if inside == "srcdoc" else file.as_uri()
    outer = tmp_path / "outer.html"
    outer.write_text(f'<iframe sandbox="allow-scripts" width="700" height="600" {inside}="{value}"></iframe>', "utf-8")
    page = seen.open(outer)
    frame = page.frame_locator("iframe")
    frame.locator(GRID).first.wait_for()
    assert frame.locator(GRID).count() == LAYERS * HEADS
    frame.locator("#task").select_option("dep")
    frame.locator('[data-head="1"]').click()
    assert frame.locator("#name").text_content() == "Layer 1, head 2"
    seen.quiet()
