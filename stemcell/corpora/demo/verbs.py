"""The verbs of the demo language: their forms, and what kinds of things may be their subjects and objects."""

from __future__ import annotations

from dataclasses import dataclass

from stemcell.corpora.demo.lexicon import third

# Verbs: "lemma[/past[/participle]] : subject kinds > object kinds" with, where one is taken, a preposition or
# particle after the forms. Marks: * no progressive, + doubles its last letter.
_VERBS = {
    "intransitive": """
        smile laugh cry dance shout work wait sing/sang/sung complain cook paint : person
        sleep/slept run/ran/run+ swim/swam/swum+ play : person animal""",
    "unaccusative": """
        arrive disappear : person animal vehicle document
        leave/left return : person vehicle
        fall/fell/fallen : person object container
        die : person animal
        open close : place container
        break/broke/broken : object container
        begin/began/begun+ end : event contest force
        stop+ : vehicle force
        burn : place document""",
    "transitive": """
        visit : person > place person city event
        meet/met help call invite photograph thank : person > person
        leave/left* reach* admire* : person > city place
        watch film : person > event animal
        follow see/saw/seen* : person animal > person animal vehicle
        read/read/read translate finish : person > document
        write/wrote/written review print : person > document
        publish : org > document
        sign study : person org > document
        support* reject accept discuss : person org > plan
        forget/forgot/forgotten+* remember* explain like* : person > plan
        close : person > container
        build/built : person org > place vehicle
        close sell/sold : org > place
        destroy damage : force > place vehicle document
        attack bite/bit/bitten chase : animal > person animal
        frighten surprise : animal plan document force > person
        buy/bought sell/sold : person org > object container vehicle
        steal/stole/stolen hide/hid/hidden find/found lose/lost : person > object document
        carry move : person > container object
        eat/ate/eaten : person animal > food
        cook order : person > food
        drive/drove/driven park : person > vehicle
        miss : person > vehicle event contest
        attend watch : person > event contest
        organize cancel record : person org > event contest
        win/won/won+ lose/lost : person org > contest
        hire fire promote sue : org > person
        join leave/left : person > org
        study discuss explain : person > topic
        like* love* hate* remember* forget/forgot/forgotten+* : person > person place city food event topic
        know*/knew/known : person > person city
        own* : person org > place vehicle
        guard protect : person animal > place person
        arrest question judge : person > person""",
    "handling": """
        paint : person > place object
        open fix clean break/broke/broken mark : person > container
        repair clean : person > object vehicle
        cut/cut/cut+ : person > food""",
    "oblique": """
        talk to : person > person
        talk about : person > plan topic contest
        wait for : person > person vehicle
        look at : person > person object place document
        listen to : person > person event
        laugh at : person animal > person
        think/thought about* : person > person topic
        complain about : person > food event topic
        go/went/gone to : person > place city event
        travel to : person > city
        walk run/ran/run+ to : person animal > place
        drive/drove/driven to : person > place city
        live in* : person > city
        vote for : person > person
        work for : person > org
        pay/paid for : person org > object food vehicle
        belong to* : object vehicle container place > person org
        believe in* : person > person topic
        look like* : person animal object > animal person
        invest in : org > place org""",
    "ditransitive": """
        give/gave/given offer sell/sold : person org > object document vehicle
        send/sent show lend/lent : person org > document object
        bring/brought : person > food object""",
    "particle": """
        pick up : person > object container animal
        turn off : person > object
        throw/threw/thrown away : person > food document object
        write/wrote/written down : person > document
        hand in : person > document
        wake/woke/woken up : force person animal > person
        call off : person org > event contest
        take/took/taken over : org > org
        set/set/set+ up : person org > org
        give/gave/given up : person >
        grow/grew/grown up : person animal >
        break/broke/broken down : vehicle >
        come/came/come back : person animal vehicle >""",
    "subject-control": """
        want* try decide hope refuse promise manage agree learn plan+ : person
        decide plan+ refuse promise agree : org""",
    "object-control": """
        ask tell/told order advise : person org > person
        persuade force invite encourage allow : person org > person
        promise : person > person""",
    "raising": "seem* appear* : person animal vehicle document",
    "gerund": "enjoy stop+* start* avoid like* hate* : person",
    "bare": """
        see/saw/seen* hear/heard* watch : person > person animal
        make/made let/let/let+ help : person event > person""",
    "that": """
        think/thought* believe* know/knew/known* hope hear/heard* fear* remember* say/said claim : person
        say/said announce report claim : org""",
    "whether": "ask wonder decide : person",
    "wh": "know/knew/known* ask explain remember* forget/forgot/forgotten+* discover : person",
    "speech": "say/said ask shout answer reply whisper add : person",
}


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in one use: its forms, the preposition or particle it takes, and the kinds of its arguments."""

    lemma: str
    forms: dict[str, str]
    use: str
    word: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    stative: bool


def _verb_forms(entry: str, doubles: bool) -> dict[str, str]:
    lemma, *irregular = entry.split("/")
    stem = lemma + lemma[-1] if doubles else lemma
    if lemma.endswith("e"):
        regular = lemma + "d"
    else:
        regular = lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else stem + "ed"
    past = irregular[0] if irregular else regular
    gerund = (lemma[:-2] + "y" if lemma.endswith("ie") else lemma[:-1] if lemma.endswith("e") else stem) + "ing"
    if lemma.endswith("ee"):
        gerund = lemma + "ing"
    participle = irregular[1] if len(irregular) > 1 else past
    return {"VB": lemma, "VBP": lemma, "VBZ": third(lemma), "VBD": past, "VBN": participle, "VBG": gerund}


def _verb(entry: str, use: str, word: str, subjects: str, objects: str) -> Verb:
    marks = {mark for mark in "*+" if mark in entry + word}
    plain = entry.translate(str.maketrans("", "", "*+"))
    return Verb(
        plain.split("/")[0],
        _verb_forms(plain, "+" in marks),
        use,
        word.rstrip("*"),
        tuple(subjects.split()),
        tuple(objects.split()),
        "*" in marks,
    )


def _parse(use: str, text: str) -> list[Verb]:
    verbs = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        left, _, right = line.partition(" : ")
        subjects, _, objects = right.partition(">")
        entries = left.split()
        word = entries.pop() if use in {"oblique", "particle"} else ""
        verbs += [_verb(entry, use, word, subjects, objects) for entry in entries]
    return verbs


VERBS = {use: _parse(use, text) for use, text in _VERBS.items()}
