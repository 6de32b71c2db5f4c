"""The ride in a real Chromium: what is drawn is what the model computed, and every way to steer it."""

import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import ROOT, offline
from tests.browser.kit import axe_faults, box_of, contrast, lasting, rgb, seen_no_more, settled, sideways
from tests.course import LESSONS
from tests.oracle.language.words import pieces
from tests.oracle.language.words import text_of as text_of
from tests.oracle.passes.decode import translated
from tests.oracle.passes.forward import softmax
from ui.components.shared.wire import browser_file
from ui.components.stage import COMPONENT
from ui.components.stage.data import packed
from ui.components.stage.looks import percent

pytestmark = pytest.mark.browser

DEMO = Path(__file__).with_name("stage_demo.py")
SENTENCE = "The girl sees the boy."
FULL = "the cat sees a big dog and " * 20  # more than the model takes
NAMES = "all => all.map(one => one.getAttribute('aria-label') ?? one.textContent)"  # of buttons
QUICK = 20  # times as fast as a visitor watches: what is looked at here does not depend on it


@pytest.fixture(scope="module")
def url(serve: Callable[..., str]) -> str:
    return serve(DEMO)


def opened(page: Page, url: str, sentence: str = SENTENCE, **more: str) -> Page:
    page.goto(f"{url}/?sentence={sentence}" + "".join(f"&{name}={value}" for name, value in more.items()))
    drawn(page)
    return settled(page)


def drawn(page: Page) -> None:
    page.locator(".stage[data-id]").wait_for()


def in_app(page: Page, serve: Callable[..., str], path: str = "") -> Page:
    """A page of the app, its stage drawn."""
    page.goto(f"{serve(ROOT / 'app.py')}/{path}")
    drawn(page)
    return settled(page)


def root(page: Page) -> Locator:
    return page.locator(".stage")


def ask(page: Page, script: str, argument: object = None) -> Any:
    """Run a script on the stage's root element, `stage`, and its `ride`."""
    return root(page).evaluate(f"(stage, arg) => {{ const {{ ride }} = stage; {script} }}", argument)


def time_of(page: Page) -> float:
    return float(ask(page, "return ride.t"))


def caption(page: Page) -> Locator:
    return page.locator(".caption")


def runs(page: Page) -> tuple[str, int]:
    """How often the script has run, and how often the page has asked for that."""
    return settled(page).get_by_text("Runs:").inner_text(), page.evaluate("() => watched.runs.asked")


def length(page: Page) -> float:
    return float(ask(page, "return ride.data.moments.at(-1).end"))


def end_of(page: Page, stop: str) -> float:
    """When the moment of a stop ends."""
    return float(ask(page, "return ride.data.moments.find((m) => m.stop === arg).end", stop))


def stops_of(page: Page) -> list[float]:
    return list(ask(page, "return ride.data.moments.filter((m) => m.stop).map((m) => m.end)"))


def go_to(page: Page, stop: str) -> None:
    ask(page, "ride.go(arg)", end_of(page, stop))


def at_shares(page: Page, n: int) -> list[float]:
    """Times that divide the ride evenly, from its beginning to its end."""
    return [float(time) for time in np.linspace(0, length(page), n)]


def numbers_read(page: Page) -> list[float]:
    """Of the cells of the grid inside; less than 0.01 is 0."""
    cells = page.get_by_role("gridcell").all_inner_texts()
    return [0.0 if text.startswith("<") else float(text.replace("−", "-")) for text in cells]


def columns_are_the_models(scene: dict[str, Any], oracle: Any) -> None:
    for tile in scene["tiles"]:
        assert np.allclose(tile["values"], oracle[tile["name"]][tile["token"]], rtol=5e-3, atol=2e-4)


@pytest.fixture(scope="module")
def whole(browser: Browser, url: str) -> Iterator[Page]:
    """The whole ride, opened once."""
    with offline(browser) as context:
        yield opened(context.new_page(), url)


@pytest.fixture
def ride(whole: Page) -> Page:
    """The whole ride, at its beginning and as it is steered at first, whoever has had it before."""
    state = "{ speed: 1, stops: true, captions: true, heads: {}, windows: [], focus: null }"
    ask(whole, f"ride.setPlaying(false); Object.assign(ride, {state}); ride.go(0)")
    return whole


@pytest.fixture
def faults(page: Page) -> list[str]:
    """Errors in the page's own scripts."""
    found: list[str] = []
    page.on("pageerror", lambda fault: found.append(str(fault)))
    return found


def test_while_code_is_fetched_nothing_without_a_meaning_is_shown(page: Page, serve: Callable[..., str]) -> None:
    page.route(f"**/{COMPONENT.late}", lambda route: None)  # never answered
    in_app(page, serve, f"?sentence={SENTENCE}")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Scaled dot-product").click()
    expect(page.locator(".stage[data-outline]")).to_be_visible()
    expect(page.locator(".stage[data-id]")).to_have_count(0)
    expect(page.locator(".stage").get_by_role("button", name="Play")).to_be_visible()
    for name in ("Step inside", "The whole machine"):
        expect(page.locator(".stage").get_by_role("button", name=name)).to_have_count(0)
    expect(page.locator(".stage .scale")).to_be_hidden()
    assert all(name.strip() for name in page.locator(".stage button:visible").evaluate_all(NAMES))


@pytest.mark.parametrize(
    "manner", [(0, 0), (1, 0), (9, 0), (6, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY), (6, zlib.Z_RLE)]
)
def test_what_zlib_packs_is_unpacked(page: Page, manner: tuple[int, int]) -> None:
    level, strategy = manner
    rng = np.random.default_rng(level + 10 * strategy)
    code = browser_file("stage/picture/inflate.js")
    for n in (0, 1, 2, 300, 70_000):
        runs = np.repeat(rng.integers(0, 1 + n % 254, n), rng.integers(1, 300, n) ** (rng.random(n) < 0.1))[:n]
        packer = zlib.compressobj(level, strategy=strategy)
        packed = packer.compress(runs.astype(np.uint8).tobytes()) + packer.flush()
        unpack = f"([bytes, size]) => {{ {code}; return [...inflated(Uint8Array.from(bytes), size)] }}"
        assert page.evaluate(unpack, [[*packed], n]) == runs.tolist()


def test_the_picture_says_of_every_share_as_many_percent_as_the_captions(page: Page) -> None:
    rng = np.random.default_rng(1)
    turns = np.array([0, 0.01, 0.125, 0.5, 0.955, 0.995, 0.9995, 1])
    shares = np.concatenate([rng.random(4000), rng.random(2000) / 50, turns, turns[1:] - 1e-4, turns[1:] - 2e-5])
    code = browser_file("stage/picture/inflate.js") + browser_file("stage/picture/numbers.js")
    unpack = f"""([bytes, n]) => {{ {code}
        const data = {{ numbers: Uint8Array.from(bytes), tensors: [{{ shape: [n], start: 0 }}] }};
        fill(data);
        return [...data.tensors[0].values].map(percentOf); }}"""
    said = page.evaluate(unpack, [[*packed([shares])], len(shares)])
    captions = [percent(share).replace("less than ", "<").replace("more than ", ">") for share in shares.tolist()]
    assert said == captions


def test_a_word_is_squeezed_before_it_is_cut(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve)
    spy = """const said = {}, { pen } = ride.painter, fill = pen.fillText;
        pen.fillText = function (words, x, y, most) { said[words] = most; fill.call(this, words, x, y, most); };
        ride.draw();
        delete pen.fillText;
        return said;"""
    said = ask(page, spy)  # I ate an apple → Ich habe einen Apfel gegessen.
    assert 0 < said["gegessen"] < 40  # pixels: less than it is wide


def test_what_is_written_never_stands_under_the_arrows(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve, "?sentence=" + "+and+".join(["a+dog+sees+a+cat"] * 4))
    spy = """const said = [], { text } = ride.painter;
        ride.painter.text = function (words, x, ...more) { said.push([words, x]); text.call(this, words, x, ...more); };
        ride.draw();
        const arrows = [...ride.shifts.root.children].slice(2).filter((one) => !one.hidden);
        return [said.filter(([words]) => words[0] === "…"), arrows.map((one) => parseFloat(one.style.left))];"""
    for viewport in ({"width": 1280, "height": 720}, {"width": 390, "height": 844}):
        page.set_viewport_size(viewport)
        settled(page)
        [(_, right)], arrows = ask(page, spy)
        assert len(arrows) == 2
        assert right <= min(arrows)


def test_a_block_from_near_opened_by_link_never_waits_for_its_code(page: Page, serve: Callable[..., str]) -> None:
    for _ in range(2):  # a server knows its lessons once somebody has been there
        in_app(page, serve, "scaled-dot-product")
    assert page.locator(".stage").get_attribute("data-outline") is None


def test_every_column_and_line_is_drawn_with_the_models_own_numbers(ride: Page) -> None:
    oracle = translated(SENTENCE)
    seen: set[str] = set()
    for time in at_shares(ride, 50)[1:]:
        scene = ask(ride, "return stage.scene(arg)", time)
        columns_are_the_models(scene, oracle)
        seen |= {tile["name"] for tile in scene["tiles"]}
        for line in scene["lines"]:
            seen.add(line["name"])
            weight = oracle[line["name"]][line["head"], line["row"], line["column"]]
            assert line["weight"] == pytest.approx(weight, rel=5e-3, abs=2e-4)
        for bar in scene["bars"]:
            shares = softmax(oracle["logits"][bar["step"]])
            named = [id for id in np.argsort(-shares)[:8] if pieces([id])[0].text == bar["text"]]
            assert np.isclose(shares[named], bar["share"], atol=2e-4).any()
    assert {
        "encoder.embedding.positions",
        "encoder.layers.2.add_norm_2.output",
        "decoder.layers.1.cross_attn.weights",
    } <= seen
    assert len(seen) > 25


def test_at_rest_every_block_holds_the_columns_and_the_lines_of_the_sentence(ride: Page) -> None:
    oracle, scene = translated(SENTENCE), ask(ride, "return stage.rest()")
    columns_are_the_models(scene, oracle)
    n_source, n_target = len(oracle["encoder.embedding.positions"]), len(oracle.labels)
    assert len(scene["tiles"]) == 8 * n_source + 11 * n_target  # what each block but the last made of each piece
    assert [one["text"] for one in scene["pieces"] if one["panel"] == 0] == [
        one.text for one in pieces(ask(ride, "return ride.data.panels[0].ids"))
    ]
    by_block: dict[str, list[dict[str, Any]]] = {}
    for line in scene["lines"]:
        by_block.setdefault(line["name"], []).append(line)
        assert line["weight"] == pytest.approx(
            oracle[line["name"]][line["head"], line["row"], line["column"]], rel=5e-3, abs=2e-4
        )
        assert line["width"] == pytest.approx(max(0.6, 5 * line["weight"]))
        assert line["y1"] > line["y2"]  # from the row below to the row above
    assert set(by_block) == {
        f"{stack}.layers.{n}.self_attn.weights" for stack in ("encoder", "decoder") for n in range(3)
    }
    for name, lines in by_block.items():  # all that are strong enough
        assert len(lines) == (oracle[name][lines[0]["head"]] >= 0.1).sum()
    (bar,) = scene["bars"]
    assert bar["share"] == pytest.approx(softmax(oracle["logits"][-1])[oracle.labels[-1]], abs=2e-4)


def test_a_glow_climbs_slowly_until_someone_touches_the_machine(page: Page, url: str) -> None:
    opened(page, url)
    lit = "return [0.1, 0.9].map((g) => stage.rest(g).tiles.toSorted((a, b) => b.alpha - a.alpha)[0])"
    low, high = ask(page, lit)
    assert (low["panel"], high["panel"]) == (0, 1)
    runs_before = runs(page)
    paints = """return new Promise((done) => {
        const { painter } = ride, paint = painter.paint.bind(painter);
        let n = 0;
        painter.paint = (...given) => { n += 1; paint(...given); };
        setTimeout(() => { delete painter.paint; done(n); }, 500);
    })"""
    assert 1 <= ask(page, paints) <= 20
    assert runs(page) == runs_before  # it asks nothing of the server
    page.locator(".stage canvas").hover()
    page.mouse.down()
    page.mouse.up()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play").wait_for()
    assert ask(page, "return ride.loop.touched")
    assert ask(page, paints) == 0


def test_with_less_motion_the_machine_at_rest_stands_still(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(reduced_motion="reduce"), url)
    assert ask(page, "return ride.loop.frame") is None
    assert {tile["alpha"] for tile in ask(page, "return stage.rest().tiles")} == {0.75}


def test_the_head_that_is_shown_can_be_switched_off(page: Page, url: str) -> None:
    """The machine stands at a piece being written; the page is told which head, and at which row."""
    opened(page, url)
    off = page.get_by_role("button", name="Switch this head off")
    expect(off).to_have_count(0)  # at rest no head is shown
    ask(page, "ride.go(ride.data.moments.find((m) => m.kind === 'write').end)")
    expect(off).to_be_visible()
    sent = ask(
        page,
        """return new Promise((done) => {
            ride.send = (...given) => done(given);
            ride.card.off.click();
        })""",
    )
    moment = ask(page, "return ride.scene.moment")
    assert sent == [[moment["panel"], moment["part"], moment["head"], moment["step"]], "off"]


def test_the_same_time_is_the_same_picture_however_one_came_there(ride: Page, page: Page, url: str) -> None:
    """Forwards where others have been before, backwards on a fresh page: nothing is left to chance or to the way."""
    times = at_shares(ride, 61)
    # Only a number is sent for each scene: all of them together are many megabytes.
    digests = """return arg.map((t) => { ride.go(t); return [...JSON.stringify(stage.scene())].reduce(
        (sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0, 7); })"""
    forwards = ask(ride, digests, times)
    backwards = ask(opened(page, url), digests, times[::-1])
    assert backwards[::-1] == forwards
    assert len(set(forwards)) > 55


# How thick each line of attention is painted at a time, one after the other.
STROKES = """
    const { painter } = ride;
    const widths = [];
    painter.pen.stroke = () => widths.push([painter.pen.lineWidth, painter.pen.strokeStyle]);
    painter.lines(stage.scene(arg));
    delete painter.pen.stroke;
    return widths;
"""


# Of each bar that is painted, whether it has the colour of the piece that is taken, and how long it is.
TAKEN = """
    const { painter } = ride, found = [];
    let long = 0;
    painter.rect = (x, y, w) => (long = w);
    painter.pen.fill = () => found.push([painter.pen.fillStyle === painter.roles.target, long]);
    painter.bars(ride.scene);
    delete painter.rect;
    delete painter.pen.fill;
    return found;
"""


def test_each_line_is_as_wide_as_its_weight_and_faint_ones_are_left_out(ride: Page) -> None:
    stop = end_of(ride, "attention")
    lines = ask(ride, "return stage.scene(arg).lines", stop)
    heavy = [line for line in lines if line["weight"] > 0.2]
    ratios = [line["width"] / line["weight"] for line in heavy]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))
    assert min(line["weight"] for line in lines) >= 0.01
    weights = translated(SENTENCE)["encoder.layers.0.self_attn.weights"][lines[0]["head"]]
    assert len(lines) == (weights >= 0.01).sum()
    drawn = ask(ride, STROKES, stop)
    widths = [line["width"] for line in sorted(lines, key=lambda line: line["strong"])]
    assert [width for width, _ in drawn] == pytest.approx(widths, rel=1e-5)
    assert len({width for width, _ in drawn}) > 5
    reading = end_of(ride, "reading")
    for time, role in ((stop, "source"), (reading, "memory")):  # lines that read a memory have its colour
        colours = {colour for _, colour in ask(ride, STROKES, time)}
        assert (
            ask(
                ride,
                "ride.painter.pen.strokeStyle = ride.painter.roles[arg]; return ride.painter.pen.strokeStyle",
                role,
            )
            in colours
        )
        assert len(colours) == 1


def test_it_plays_to_each_stop_and_asks_nothing_of_the_server(ride: Page) -> None:
    before = runs(ride)
    ask(ride, "ride.speed = arg", QUICK)
    stops = stops_of(ride)
    for stop in stops:
        ride.get_by_role("button", name=re.compile("^(Play|Go on)$")).click()
        expect(ride.get_by_role("button", name="Pause")).to_have_count(0)
        assert time_of(ride) == pytest.approx(stop)
    expect(ride.get_by_role("button", name="Play again")).to_be_visible()
    expect(caption(ride)).to_contain_text("<eos>, the end sign, is taken")
    ask(ride, "ride.speed = 1")
    ride.get_by_role("button", name="Stops").click()
    ride.get_by_role("button", name="Play again").click()
    ride.get_by_role("button", name="Pause").wait_for()
    pace = """return new Promise((go) => {
        let [first, last, passed, n] = [0, null, 0, 0];
        const frame = (now) => {
            if (last === null) first = ride.t;
            else passed += Math.min(100, now - last);
            last = now;
            n += 1;
            if (n < 20) requestAnimationFrame(frame);
            else go((ride.t - first) / passed);
        };
        requestAnimationFrame(frame);
    })"""
    assert 1000 * ask(ride, pace) == pytest.approx(1, abs=0.01)  # a second is a second; a late frame counts for 100 ms
    ride.get_by_role("button", name="Pause").click()
    paused = time_of(ride)
    ride.wait_for_timeout(200)
    assert time_of(ride) == paused
    assert runs(ride) == before


def test_keys_steer_it(ride: Page) -> None:
    ends = [0.0, *ask(ride, "return ride.data.moments.map((m) => m.end)")]
    stops = stops_of(ride)
    ride.evaluate("() => document.activeElement.blur()")
    for key, expected in (
        ("ArrowRight", ends[1]),
        ("ArrowRight", ends[2]),
        ("ArrowLeft", ends[1]),
        ("PageDown", ends[1]),  # these scroll the ride
        ("End", ends[1]),
        ("Home", ends[1]),
    ):
        ride.keyboard.press(key)
        assert time_of(ride) == pytest.approx(expected), key
    ask(ride, "ride.go(0); ride.speed = 0.1")  # so that it comes to no stop in between
    ride.keyboard.press("Space")
    ride.get_by_role("button", name="Pause").wait_for()
    root(ride).evaluate(
        "({ ride }) => new Promise((go) => { const f = () => (ride.t > 0 ? go() : setTimeout(f, 5)); f(); })"
    )
    ride.keyboard.press("Space")
    ride.get_by_role("button", name="Go on", exact=True).wait_for()
    stood = time_of(ride)
    ride.get_by_role("textbox").focus()
    ride.keyboard.press("End")
    ride.keyboard.press("Space")
    ride.keyboard.press("ArrowLeft")
    assert time_of(ride) == stood
    ride.get_by_role("button", name="Stops").focus()
    ask(ride, "ride.go(0)")
    for key, expected in (
        ("PageDown", stops[0]),
        ("PageDown", stops[1]),
        ("PageUp", stops[0]),
        ("End", ends[-1]),
        ("ArrowRight", ends[-1]),
        ("Home", 0.0),
    ):
        ride.keyboard.press(key)
        assert time_of(ride) == pytest.approx(expected), key


def test_page_keys_scroll_the_home_page_and_step_the_ride_of_a_presenter(
    new_page: Callable[..., Page], serve: Callable[..., str]
) -> None:
    scrolled = """() => document.querySelector("[data-testid=stMain]").scrollTop"""
    page = new_page()
    in_app(page, serve).locator("h1").click()
    page.keyboard.press("PageDown")
    page.wait_for_function(f"({scrolled})() > 200")
    assert time_of(page) == 0
    page.keyboard.press("PageUp")
    page.wait_for_function(f"({scrolled})() === 0")
    page = new_page()
    in_app(page, serve, "?present=true").locator("h1").click()
    stops = stops_of(page)
    for key, expected in (("PageDown", stops[0]), ("PageDown", stops[1]), ("PageUp", stops[0])):
        page.keyboard.press(key)
        assert time_of(page) == pytest.approx(expected), key


def test_the_time_line_says_where_it_is(ride: Page) -> None:
    line = ride.get_by_role("slider")
    line.fill("3")  # the third stop
    assert time_of(ride) == pytest.approx(end_of(ride, "attention"))
    assert "Self-attention" in (line.get_attribute("aria-valuetext") or "")
    ride.get_by_role("button", name="Go to the stop: memory").click()
    expect(caption(ride)).to_contain_text("the memory")
    here, value = ride.locator(".mark.here"), "e => e.value / e.max"
    expect(here).to_have_text("memory")
    assert here.evaluate("e => Number(e.style.getPropertyValue('--at'))") == pytest.approx(line.evaluate(value))
    assert seen_no_more(ride) == []
    ride.get_by_role("button", name="Captions").click()
    expect(ride.locator(".caption")).to_be_hidden()


def test_one_steps_inside_a_column_reads_a_number_and_asks(ride: Page) -> None:
    go_to(ride, "attention")
    place = ask(ride, "return ride.scene.tiles.find((t) => t.token === 1 && t.alpha > 0.9)")
    box = box_of(ride.locator(".picture canvas"))
    ride.mouse.click(box["x"] + place["x"] + 4, box["y"] + place["y"] + 4)
    ride.get_by_role("grid").wait_for()
    values = translated(SENTENCE)["encoder.embedding.output"][1]
    assert numbers_read(ride) == pytest.approx(list(values), rel=6e-3, abs=6e-4)
    assert ride.locator(".inside th").all_inner_texts() == [str(first) for first in range(1, 257, 16)]
    ride.get_by_role("gridcell").first.click()
    ride.keyboard.press("ArrowDown")
    expect(ride.locator(".foot p")).to_contain_text("girl, number 17 of 256")
    assert seen_no_more(ride) == []
    ride.get_by_role("button", name="How is it worked out?").click()
    expect(ride.get_by_text("Asked:")).to_contain_text("('encoder.embedding.output', (1, 16))")
    ride.keyboard.press("Escape")
    expect(ride.get_by_role("grid")).to_have_count(0)


def test_inside_feed_forward_one_chooses_the_piece_by_keyboard(ride: Page) -> None:
    go_to(ride, "memory")
    ride.get_by_role("button", name="Block: encoder, layer 1, feed-forward").focus()
    ride.keyboard.press("Enter")
    ride.get_by_role("gridcell").first.click()
    piece = ride.get_by_label("Piece", exact=True)
    assert piece.locator("option").all_inner_texts() == [
        "1 The",
        "2 girl",
        "3 se",
        "4 es",
        "5 the",
        "6 boy",
        "7 .",
        "8 <eos>",
    ]
    piece.focus()
    for n, name in ((1, "girl"), (2, "se")):
        ride.keyboard.press("ArrowDown")
        expect(ride.locator(".foot p")).to_contain_text(f"{name}, number 1 of 256: ")  # the same number as before
        values = translated(SENTENCE)["encoder.layers.0.add_norm_2.output"][n]
        assert numbers_read(ride) == pytest.approx(list(values), rel=6e-3, abs=6e-4)
        expect(piece).to_be_focused()
    ride.get_by_role("button", name="How is it worked out?").click()
    expect(ride.get_by_text("Asked:")).to_contain_text("('encoder.layers.0.add_norm_2.output', (2, 0))")
    piece.focus()
    ride.keyboard.press("Escape")
    expect(ride.get_by_role("grid")).to_have_count(0)


def test_inside_only_pieces_that_are_there_have_a_row(ride: Page) -> None:
    """Of the translation none that is still to be written, as a row, as a column or to be chosen."""
    first, *written = [piece.text for piece in pieces([1, *translated(SENTENCE).labels])]
    enter = "ride.go(ride.data.moments[arg].end); ride.enter({ kind: 'block', panel: 1, part: ride.scene.moment.part })"
    rows, columns = ride.get_by_role("rowheader"), ride.get_by_role("columnheader")

    def moment(condition: str) -> int:
        return int(ask(ride, f"return ride.data.moments.findIndex((m) => {condition})"))

    reading = moment("m.stop === 'reading'")
    ask(ride, enter, reading)
    assert rows.all_inner_texts() == [first]
    english = [piece.text for piece in pieces(translated(SENTENCE).ids["encoder"])]
    assert columns.all_inner_texts() == ["looks at →", *english]
    ask(ride, enter, moment("m.kind === 'block' && m.panel === 1 && m.step === 1"))
    assert rows.all_inner_texts() == columns.all_inner_texts()[1:] == [first, written[0]]
    ask(ride, enter, moment("m.kind === 'write' && m.step === 3"))
    assert rows.all_inner_texts() == [first, *written[:3]]
    ride.get_by_role("slider").fill("5")  # back to the reading: what was inside is of another moment
    expect(ride.get_by_role("grid")).to_have_count(0)
    before = "ride.go(ride.data.moments[arg].end); ride.enter({ kind: 'block', panel: 1, part: 4 })"
    ask(ride, before, reading)
    assert ride.get_by_label("Piece", exact=True).locator("option").all_inner_texts() == [f"1 {first}"]


def test_the_panel_that_works_has_a_frame_in_colour(ride: Page) -> None:
    stops = ask(ride, "return ride.data.moments.filter((m) => m.stop).map((m) => [m.panel, m.stop])")
    for stop in dict(stops).values():  # one for each panel
        go_to(ride, stop)
        edges = ask(ride, EDGES)
        assert sorted(active for active, _ in edges) == [False, True]
        assert sorted(edges) == sorted(edges, key=lambda edge: edge[1]), stop


def test_a_frame_stands_only_where_a_column_is(ride: Page) -> None:
    for time in at_shares(ride, 97):
        slots, tiles = ask(ride, "ride.go(arg); return [ride.scene.slots, ride.scene.tiles]", time)
        places = {(tile["panel"], tile["level"], tile["token"]) for tile in tiles if tile["reveal"] > 0}
        assert {(slot["panel"], slot["level"], slot["token"]) for slot in slots} <= places


def test_nothing_is_drawn_of_a_piece_that_is_not_written_yet(ride: Page) -> None:
    for moment in range(ask(ride, "return ride.data.moments.length")):
        scene = ask(ride, "return stage.scene(ride.data.moments[arg].end)", moment)
        step = max(0, scene["moment"]["step"])
        drawn_of = [*scene["tiles"], *scene["pieces"]]
        assert all(one["token"] <= step for one in drawn_of if one["panel"] == 1)
        lines = [line for line in scene["lines"] if line["panel"] == 1]
        assert all(line["row"] <= step and (line["memory"] or line["column"] <= step) for line in lines)


def test_the_caption_follows_the_head_that_one_chooses(page: Page, url: str) -> None:
    weights = translated(SENTENCE)["encoder.layers.0.self_attn.weights"]
    opened(page, url, plays="encoder.self_attn", near="score")
    row = ask(page, "return ride.scene.moment.focus")
    for head in (3, 0):
        page.locator(".card").get_by_role("button", name=f"Head {head + 1}").click()
        expect(page.locator(".caption")).to_contain_text(f"In layer 1, head {head + 1}, the query")
        expect(page.locator(".caption")).to_contain_text(f"{weights[head, row].max():.0%} from")


def test_what_the_mask_hides_does_not_count_as_a_faint_line(ride: Page) -> None:
    ask(ride, "ride.go(ride.data.moments.find((m) => m.kind === 'block' && m.step === 1).end)")
    head = ask(ride, "return ride.scene.attention.head")
    assert (translated(SENTENCE)["decoder.layers.0.self_attn.weights"][head, 1, :2] < 0.01).tolist() == [True, False]
    expect(ride.locator(".look")).to_contain_text(" 1 line under 1% is hidden.")


def test_what_the_likeliest_pieces_leave_to_the_others_is_said(ride: Page) -> None:
    go_to(ride, "next piece")
    taken, long = zip(*ask(ride, TAKEN), strict=True)
    assert taken == (True, False, False, False, False)
    shares = np.sort(softmax(translated(SENTENCE)["logits"][0]))
    assert long == pytest.approx(np.maximum(1.5, long[0] / shares[-1] * shares[:-6:-1]), abs=0.1)
    rest = ask(ride, "return stage.scene().rest")
    assert rest["share"] == pytest.approx(shares[:-5].sum(), abs=1e-4)
    said = f"{shares[:-5].sum():.0%}" if shares[:-5].sum() >= 0.01 else "<1%"
    assert rest["text"] == f"all {len(shares) - 5:,} others: {said}"
    ride.get_by_role("button", name="Step inside").click()
    expect(ride.locator(".inside h3")).to_contain_text(f"All others together: {said}")


def test_a_block_opens_as_the_weights_of_the_head_that_is_shown(ride: Page) -> None:
    go_to(ride, "attention")
    ride.locator(".card").get_by_role("button", name="Head 3").click()
    assert {line["head"] for line in ask(ride, "return stage.scene().lines")} == {2}
    ride.get_by_role("button", name="Step inside").click()
    ride.get_by_role("grid").wait_for()
    weights = translated(SENTENCE)["encoder.layers.0.self_attn.weights"][2]
    assert numbers_read(ride) == pytest.approx(list(weights.ravel()), rel=6e-3, abs=1e-4)
    ride.get_by_role("button", name="← Back").click()
    expect(ride.get_by_role("grid")).to_have_count(0)
    assert ask(ride, "return ride.inside.shown") is False


def test_the_likeliest_pieces_open_and_say_how_likely_each_is(ride: Page) -> None:
    go_to(ride, "next piece")
    ride.get_by_role("button", name="Step inside").click()
    ride.get_by_role("grid").wait_for()
    shares = softmax(translated(SENTENCE)["logits"][0])
    best = [int(id) for id in np.argsort(-shares)[:5]]
    assert ride.get_by_role("rowheader").all_inner_texts() == [pieces([id])[0].text for id in best]
    assert numbers_read(ride) == pytest.approx([shares[id] for id in best], rel=6e-3, abs=1e-4)
    ride.get_by_role("gridcell").nth(1).click()
    ride.get_by_role("button", name="How is it worked out?").click()
    expect(ride.get_by_text("Asked:")).to_contain_text(f"('probabilities', (0, {best[1]}))")


def test_the_translation_grows_as_it_is_written(ride: Page) -> None:
    shown = ask(ride, "return ride.data.moments.map((m) => [m.kind, m.step, stage.scene(m.end).written])")
    labels = translated(SENTENCE).labels
    written = 0
    for kind, step, text in shown:
        written = step + 1 if kind in ("choose", "write", "end") else written
        assert text == (text_of(labels[:written]) if written else "")


def test_a_stop_leaves_in_sight_what_was_said_on_the_way_there(ride: Page) -> None:
    stops = ask(ride, "return ride.data.moments.flatMap((m, n) => (m.stop ? [n] : []))")
    said = ask(ride, "return ride.data.moments.map((m) => m.caption)")
    for before, stop in itertools.pairwise([-1, *stops]):
        ask(ride, "ride.go(ride.data.moments[arg].end)", stop)
        expect(caption(ride)).to_have_text(said[stop])
        earlier = [text for text in dict.fromkeys(said[before + 1 : stop]) if text != said[stop]]
        shown = ride.locator(".earlier")
        lines = shown.inner_text().split("\n") if shown.is_visible() else []
        assert lines == earlier[len(earlier) - len(lines) :]  # the last of it, and each line whole
        assert shown.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
        assert bool(lines) == bool(earlier)


# What overlaps, or does not fit into its box, in the card at the end of each moment.
CROWDED = """
    const faults = [];
    const card = stage.querySelector(".card");
    const parts = () => [...card.children].filter((one) => one.offsetHeight);
    for (const { end, caption } of ride.data.moments) {
        ride.go(end);
        const boxes = parts().map((one) => one.getBoundingClientRect());
        const said = parts().filter((one) => !one.matches(".earlier"));
        const whole = said.every((one) => one.scrollHeight <= one.clientHeight + 1);
        const apart = boxes.every((box, n) => !n || box.top >= boxes[n - 1].bottom - 0.5);
        if (!whole || !apart || card.scrollHeight > card.clientHeight) faults.push(caption);
    }
    return faults;
"""


def test_nothing_in_the_card_covers_or_cuts_what_is_said(new_page: Callable[..., Page], url: str) -> None:
    for width, height in ((1280, 720), (390, 844)):
        page = opened(new_page(viewport={"width": width, "height": height}), url)
        # At the least height that a screen or a dialog leaves; at once, before it takes the height that this one has.
        assert ask(page, "stage.style.setProperty('--height', '368px');" + CROWDED) == []


def test_on_a_phone_the_card_keeps_its_height(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport={"width": 390, "height": 844}), url)
    heights = """return ride.data.moments.map((m) => {
        ride.go(m.end); return stage.querySelector(".card").offsetHeight; })"""
    assert len(set(ask(page, heights))) == 1


def test_the_keyboard_reaches_columns_and_blocks(ride: Page) -> None:
    go_to(ride, "memory")
    proxies = ride.get_by_role("toolbar").get_by_role("button")
    assert proxies.evaluate_all("all => all.filter((one) => one.tabIndex === 0).length") == 1
    proxies.first.focus()
    ride.keyboard.press("End")
    expect(proxies.last).to_be_focused()
    assert "Column of <eos>" in (proxies.last.get_attribute("aria-label") or "")
    assert ask(ride, "return ride.focus")["token"] == 7
    ride.keyboard.press("Enter")
    expect(ride.get_by_role("grid")).to_be_visible()
    ride.keyboard.press("Escape")
    expect(proxies.last).to_be_focused()
    ride.keyboard.press("Enter")
    play = ride.locator(".transport .play")
    play.focus()  # whoever leaves the picture sees again what the caption speaks of
    assert ask(ride, "return ride.focus") is None
    ride.keyboard.press("Space")
    expect(ride.get_by_role("grid")).to_be_hidden()
    expect(play).to_have_attribute("aria-label", "Pause")
    expect(play).to_be_focused()
    ride.keyboard.press("Space")
    expect(play).to_be_focused()


def test_the_story_is_a_list_whose_items_lead_to_their_moments(ride: Page) -> None:
    ride.get_by_text("The story as a list").click()
    items = ride.locator(".story li button")
    moments = ask(ride, "return ride.data.moments.map(({ caption, end }) => [caption, end])")
    runs = [list(run) for _, run in itertools.groupby(moments, lambda moment: moment[0])]  # of what is said alike
    assert items.all_text_contents() == [run[0][0] for run in runs]
    layers = next(n for n, run in enumerate(runs) if run[0][0].startswith("Layers 2 and 3 do the same"))
    assert len(runs[layers]) > 1
    for n in 4, layers:
        items.nth(n).click()
        expect(caption(ride)).to_have_text(items.nth(n).inner_text())
        assert time_of(ride) == pytest.approx(runs[n][-1][1])


def test_another_sentence_starts_anew_with_its_own_numbers(page: Page, url: str) -> None:
    opened(page, url)
    old = root(page).get_attribute("data-id")
    ask(page, "ride.stops = false; ride.toggle()")
    page.get_by_role("textbox").fill("I like dogs.")
    page.get_by_role("textbox").press("Enter")
    page.wait_for_function(
        "old => [...document.querySelectorAll('.st-key-stage *')].find((one) => one.shadowRoot)"
        ".shadowRoot.querySelector('.stage').dataset.id !== old",
        arg=old,
    )
    assert time_of(settled(page)) == 0
    assert ask(page, "return ride.playing") is False
    oracle = translated("I like dogs.")
    scene = ask(page, "return stage.scene(arg)", 6.0)
    assert scene["tiles"]
    columns_are_the_models(scene, oracle)


# How many pictures the camera takes from where it is to all of the picture.
FRAMES = """
    const asked = [], ask = window.requestAnimationFrame;
    window.requestAnimationFrame = (draw) => asked.push(draw);
    ride.camera = { k: 2, x: 0, y: 0 };
    ride.moveCamera();
    for (let n = 0; n < asked.length && n < 9; n++) asked[n](performance.now());
    window.requestAnimationFrame = ask;
    return asked.length;
"""


def test_less_motion_steps_from_stop_to_stop(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(reduced_motion="reduce"), url)
    captions = [text for text, _ in itertools.groupby(ask(page, "return ride.data.moments.map((m) => m.caption)"))]
    page.get_by_role("button", name="Play").click()
    expect(caption(page)).to_have_text(captions[0])
    for text in captions[1:]:
        page.locator(".card").get_by_role("button", name="Go on").click()
        assert not ask(page, "return ride.playing")
        expect(caption(page)).to_have_text(text)
    go_to(page, "attention")
    page.get_by_role("button", name="Step inside").click()
    assert ask(page, "return stage.getAnimations({ subtree: true }).length") == 0
    assert ask(page, FRAMES) == 1


def test_a_tab_in_the_background_pauses(page: Page, url: str) -> None:
    opened(page, url)
    ask(page, "ride.toggle()")
    page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", { value: true, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    assert ask(page, "return ride.playing") is False


@pytest.mark.parametrize("sentence", ["Hi", "😀", "שלום עולם", "a <b>b</b> </script>", FULL])
def test_odd_sentences_are_drawn(page: Page, url: str, faults: list[str], sentence: str) -> None:
    opened(page, url, sentence)
    for time in at_shares(page, 25):
        scene = ask(page, "ride.go(arg); return stage.scene()", time)
        for one in (*scene["tiles"], *scene["pieces"], *scene["blocks"]):
            assert np.isfinite([one["x"], one["y"], one["w"], one["h"]]).all()
            assert one["h"] >= 0
        assert all(tile["w"] >= 8 for tile in scene["tiles"])  # a number is at least a pixel
    assert not faults


def test_long_sentences_show_a_window_that_arrows_move(page: Page, url: str) -> None:
    opened(page, url, FULL)
    go_to(page, "vectors")
    shown = {tile["token"] for tile in ask(page, "return stage.scene().tiles")}
    assert 10 < len(shown) <= 24
    page.get_by_title("Show later pieces of the encoder").click()
    moved = {tile["token"] for tile in ask(page, "return stage.scene().tiles")}
    assert min(moved) > min(shown)
    assert len(moved) == len(shown)
    left = ask(page, "return ride.data.panels[0].tokens.length - 1 - arg", max(moved))
    expect(page.get_by_title("Show later pieces of the encoder")).to_have_text(f"{left} more →")


@pytest.mark.parametrize("more", [{"steps": "1"}, {"steps": "3"}, {"toy": "1"}])
def test_interrupted_translations_and_other_models_ride_to_the_end(
    page: Page, url: str, faults: list[str], more: dict[str, str]
) -> None:
    opened(page, url, "The cat sat.", **more)
    for time in at_shares(page, 25):
        ask(page, "ride.go(arg)", time)
    expect(caption(page)).to_contain_text("end")
    assert not faults


CLIPS = {lesson.on_map.plays or lesson.on_map.opens: lesson.slug for lesson in LESSONS}


@pytest.mark.parametrize("plays", CLIPS, ids=CLIPS.values())
def test_a_lessons_clip_is_a_stretch_of_the_ride_with_all_its_numbers(
    plays: tuple[str, ...], page: Page, whole: Page, url: str
) -> None:
    shown = """return [...stage.scene(arg).tiles.map((one) => [one.name, one.token, one.reveal, ...one.values]),
        ...stage.scene(arg).lines.map((one) => [one.name, one.head, one.row, one.column, one.weight]),
        ...stage.scene(arg).bars.map((one) => [one.text, one.share]), [stage.scene(arg).caption]]"""
    small = opened(page, url, plays=",".join(plays))
    first, last, opens_at = ask(small, "return [ride.from, ride.to, ride.t]")
    assert first < opens_at <= last
    for time in np.linspace(first, last, 5)[1:]:
        assert ask(small, shown, float(time)) == ask(whole, shown, float(time))
    assert len(ask(small, shown, opens_at)) > 1 or plays == ("pieces",)
    ask(small, "ride.speed = arg", QUICK)
    small.get_by_role("button", name="Play", exact=True).click()
    small.get_by_role("button", name="Play again").wait_for()
    assert time_of(small) == last
    ask(small, "ride.go(0)")
    assert time_of(small) == first


NEAR = {
    "project": {"x", "q", "k", "v"},
    "score": {"q", "k", "scaled", "weights"},
    "mix": {"v", "weights", "heads"},
    "heads": {"weights", "heads", "made"},
    "norm": {"x", "made", "sum", "normed"},
    "mask": {"x", "weights"},
    "read": {"x", "memory", "q", "k", "v", "weights", "heads"},
    "widen": {"x", "pre", "hidden", "made"},
}
# What the clip of a view plays, if not the encoder's self-attention.
PLAYS = {"mask": "decoder.self_attn", "read": "decoder.cross_attn", "widen": "encoder.feed_forward"}


@pytest.mark.parametrize("view", NEAR)
def test_from_near_every_number_is_the_models_and_can_be_read(
    page: Page, url: str, faults: list[str], view: str
) -> None:
    opened(page, url, plays=PLAYS.get(view, "encoder.self_attn"), near=view)
    for scheme in ("light", "dark"):
        wear(page, scheme)
        assert not too_pale(page, [time_of(page)]), scheme
        is_shown_from_near(page, view)
    assert not faults


# Of each column of numbers the colours of the largest and of the smallest, as painted: red less blue.
EXTREMES = """
    ride.go(ride.t);
    const { pen, ratio } = ride.painter;
    return stage.scene().near.columns.filter((one) => one.values.length > 8).map(({ values, across, x, y, w, h }) => {
        const rows = Math.ceil(values.length / across);
        return [Math.max, Math.min].map((most) => {
            const n = values.indexOf(most(...values));
            const at = [x + ((n % across) + 0.5) * (w / across), y + (Math.floor(n / across) + 0.5) * (h / rows)];
            const [red, , blue] = pen.getImageData(...at.map((v) => Math.floor(v * ratio)), 1, 1).data;
            return red - blue;
        });
    });
"""


# Of each panel: whether it works, and how far the frame at its upper edge is from grey.
EDGES = """
    const { pen, ratio } = ride.painter;
    return ride.scene.boxes.map(({ x, y, w, active }) => {
        const colour = pen.getImageData((x + w / 2) * ratio, (y + 0.5) * ratio, 1, 1).data.slice(0, 3);
        return [active, Math.max(...colour) - Math.min(...colour)];
    });
"""


# Of each column with a role, whether its frame is painted in the colour of that: of none other of all roles.
FRAMED = """
    const { pen, ratio, roles } = ride.painter;
    return stage.scene().near.columns.filter((one) => one.role).map(({ role, x, y, h }) => {
        const [red, green, blue] = pen.getImageData((x - 2) * ratio, (y + 0.4 * h) * ratio, 1, 1).data;
        const far = (colour) => {
            const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
            return Math.hypot(r - red, g - green, b - blue);
        };
        return far(roles[role]) === Math.min(...Object.values(roles).map(far));
    });
"""


def is_shown_from_near(page: Page, view: str) -> None:
    oracle = translated(SENTENCE)
    assert ask(page, "return stage.scene(ride.to - 3.9).near.alpha") < 0.1
    if headed := view not in ("heads", "norm", "widen"):
        ask(page, "ride.chooseHead(2)")
    scene = ask(page, "return stage.scene()")
    named = ask(page, "return arg.map((what) => ride.data.tensors[ride.data.near[what]].name)", [*NEAR[view]])
    near = scene["near"]
    assert (near["alpha"], scene["tiles"], scene["lines"]) == (1, [], [])
    for one in near["columns"]:
        assert one["grown"] == 1
        assert np.allclose(one["values"], oracle[one["name"]][tuple(one["index"])], rtol=5e-3, atol=2e-4)
    colours = np.array(ask(page, EXTREMES))  # red less blue, where the largest and where the smallest number stands
    assert (colours[:, 0] > colours[:, 1]).mean() > 0.9  # orange, blue; texts may lie on some
    assert np.mean(ask(page, FRAMED) or [True]) > 0.9
    heads = {one["index"][0] for one in near["columns"] if len(one["index"]) == 2}
    assert not headed or heads <= {2}
    weighed = [one for one in (*near["lines"], *near["bars"], *near["crosses"]) if one["name"]]
    for one in weighed:
        column = one.get("column", one.get("token"))
        weight = oracle[one["name"]][one["head"], one["row"], column]
        assert one["weight"] == pytest.approx(weight, rel=5e-3, abs=2e-4)
    assert all(one["weight"] == 0 for one in near["crosses"])
    lines = [one for one in near["lines"] if one["name"] and one["weight"] > 0.1]
    assert len({round(one["width"] / one["weight"], 3) for one in lines}) <= 1
    scores = [one for one in near["texts"] if one["name"]]
    for one in scores:
        shown = float(one["text"].replace("−", "-"))
        assert shown == pytest.approx(oracle[one["name"]][tuple(one["index"])], abs=0.051)
    seen = {one["name"] for one in (*near["columns"], *weighed, *scores)}
    assert seen == set(named)
    assert bool(near["crosses"]) == (view == "mask")


def test_a_clip_opens_the_whole_machine_where_it_stands(page: Page, url: str) -> None:
    opened(page, url, plays="encoder.self_attn")
    ask(page, "ride.go(ride.data.moments[3].end)")
    page.get_by_role("button", name="The whole machine").click()
    expect(page.get_by_text("Asked:")).to_contain_text("3")
    opened(page, url, plays="encoder.self_attn", near="mix")  # the ride has no such moment: it stands at the one before
    page.get_by_role("button", name="The whole machine").click()
    expect(page.get_by_text("Asked:")).to_contain_text("4")
    opened(page, url, start="3")
    assert time_of(page) == pytest.approx(ask(page, "return ride.data.moments[3].end"))
    expect(caption(page)).to_contain_text(
        "Self-attention: each piece looks at all pieces and takes a weighted average of their numbers"
    )


READABLE, VISIBLE = 4.5, 3.0  # WCAG: of text, and of marks that mean something

# Every text of the picture as it is painted now: what it is painted on, its colour and how opaque it is.
TEXTS = r"""
    const { painter } = ride;
    const { pen } = painter;
    const ground = painter.palette.ground.match(/\d+/g).map(Number);
    const painted = [];
    let halo = null;
    pen.strokeText = function (...given) {
        halo = this.strokeStyle;
        Object.getPrototypeOf(this).strokeText.apply(this, given);
    };
    pen.fillText = function (text, x, y, ...most) {
        const at = this.getTransform().transformPoint({ x, y });
        const [r, g, b, a] = this.getImageData(Math.round(at.x), Math.round(at.y), 1, 1).data;
        const under = [r, g, b].map((v, i) => v + (1 - a / 255) * (ground[i] - v));
        painted.push([String(text), halo ?? `rgb(${under.map(Math.round)})`, this.fillStyle, this.globalAlpha]);
        halo = null;
        Object.getPrototypeOf(this).fillText.call(this, text, x, y, ...most);
    };
    for (const time of arg) ride.go(time);
    delete pen.strokeText;
    delete pen.fillText;
    return painted;
"""
# The colours of marks, and the grounds that they stand on.
MARKS = """
    const { roles, tints, palette } = ride.painter;
    const panel = ride.painter.faint(0.022);
    const marks = Object.entries(roles).map(([name, colour]) => [name, colour, panel]);
    for (const [kind, [, pale, rim]] of Object.entries(tints)) marks.push([kind, rim, pale]);
    for (const side of ["source", "target", "memory"]) marks.push([side, roles[side], tints.attention[1]]);
    return [...marks, ...[ride.painter.unchosen, roles.target].map((colour) => ["bar", colour, tints.output[1]])];
"""


def too_pale(page: Page, times: list[float]) -> list[str]:
    """Texts of the picture at these times that cannot be read, and marks that cannot be seen."""
    faults = set()
    painted = ask(page, TEXTS, times)
    assert len(painted) >= 5 * len(times)
    for text, behind, colour, alpha in painted:
        ground = rgb(behind)
        ink = [g + alpha * (c - g) for g, c in zip(ground, rgb(colour), strict=True)]
        if contrast(ink, ground) < READABLE:
            faults.add(f"{text}: {contrast(ink, ground):.2f}")
    for name, colour, ground in ask(page, MARKS):
        if contrast(rgb(colour), rgb(ground)) < VISIBLE:
            faults.add(f"mark {name}: {contrast(rgb(colour), rgb(ground)):.2f}")
    return sorted(faults)


# Whoever asked last to be told of another theme is told first.
TOLD_LAST_FIRST = """
    const add = MediaQueryList.prototype.addEventListener;
    const listeners = {};
    MediaQueryList.prototype.addEventListener = function (kind, listener) {
        const all = (listeners[this.media] ??= []);
        if (!all.length) add.call(this, kind, (event) => all.forEach((one) => one(event)));
        all.unshift(listener);
    };
"""


def wear(page: Page, scheme: Any) -> None:
    """Turn the open page to this theme, its stage drawn in it."""
    page.emulate_media(color_scheme=scheme)
    expect(root(page)).to_have_attribute("data-theme", scheme)


@pytest.mark.parametrize("before", ["", TOLD_LAST_FIRST], ids=["", "told last"])
def test_it_takes_up_the_theme_whoever_is_told_of_it_first(page: Page, url: str, before: str) -> None:
    page.add_init_script(before)
    opened(page, url)
    for scheme in ("dark", "light", "dark"):
        wear(page, scheme)
        ground = rgb(ask(page, "return ride.painter.palette.ground"))
        assert (sum(ground) < 380) == (scheme == "dark")


def test_a_clip_is_accessible(page: Page, url: str) -> None:
    opened(page, url, plays="encoder.self_attn")
    for scheme in ("light", "dark"):
        wear(page, scheme)
        assert not lasting(lambda: axe_faults(page, ".st-key-stage")), scheme


def test_a_clip_leaves_the_page_its_keys(page: Page, url: str) -> None:
    opened(page, url, plays=PLAYS["widen"], near="widen")
    stood = time_of(page)
    page.evaluate("() => document.activeElement.blur()")
    for key in ("Space", "PageDown", "ArrowRight", "Home"):
        page.keyboard.press(key)
    assert time_of(page) == stood
    assert not ask(page, "return ride.playing")
    page = opened(page, url, plays="encoder.self_attn", near="norm", large="1")
    stood = time_of(page)
    page.evaluate("() => document.activeElement.blur()")
    for key in ("PageDown", "ArrowRight", "Home"):  # the presenter's, who goes on to the next part
        page.keyboard.press(key)
    assert time_of(page) == stood
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()


def test_large_type_enlarges_the_picture_and_keeps_its_places(page: Page, url: str) -> None:
    opened(page, url)
    page.add_style_tag(content="html { font-size: 20px; }")
    settled(page)
    ask(page, "ride.fit(); ride.go(ride.data.moments.find((m) => m.stop === 'attention').end)")
    assert ask(page, "return ride.zoom") == pytest.approx(1.25)
    tile = ask(page, "return ride.scene.tiles.find((t) => t.token === 1 && t.alpha > 0.9)")
    box = box_of(page.locator(".picture canvas"))
    page.mouse.click(box["x"] + 1.25 * (tile["x"] + 4), box["y"] + 1.25 * (tile["y"] + 4))
    page.get_by_role("grid").wait_for()
    expect(page.locator(".inside h3")).to_contain_text(ask(page, "return ride.data.panels[0].tokens[1]"))


def test_axe_finds_nothing_serious(page: Page, url: str) -> None:
    opened(page, url)
    ends = ask(page, "return ride.data.moments.filter((m) => m.stop || m.kind === 'write').map((m) => m.end)")
    inside = page.get_by_role("button", name="Step inside")
    ways = (
        lambda: None,
        lambda: go_to(page, "attention"),
        lambda: (inside.click(), page.get_by_role("grid").wait_for()),
    )
    for go in ways:
        go()
        for scheme in ("light", "dark"):
            wear(page, scheme)
            assert not lasting(lambda: axe_faults(page, ".st-key-stage")), scheme
    for scheme in ("light", "dark"):
        wear(page, scheme)
        assert not too_pale(page, [0.0, *ends]), scheme


def test_on_a_phone_the_panels_stack_and_nothing_scrolls_sideways(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport={"width": 390, "height": 844}), url)
    encoder, decoder = ask(page, "return ride.scene.boxes.map(({ x, y, w, h }) => ({ x, y, w, h }))")
    assert decoder["y"] + decoder["h"] <= encoder["y"]
    assert encoder["w"] == decoder["w"] > 300
    ask(page, "ride.go(arg)", 14)
    assert not sideways(page)
    page.get_by_role("button", name="Go on", exact=True).click()
    page.get_by_role("button", name="Pause").wait_for()


def test_home_comes_back_to_the_moment_where_one_left(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve, f"?sentence={SENTENCE}")
    left = ask(page, "ride.go(ride.data.moments.find((m) => m.stop === 'memory').end); return ride.t")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Masking").click()
    page.locator(".stage.clip[data-id]").wait_for()
    settled(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Translate").click()
    page.locator(".stage[data-id]:not(.clip)").wait_for()
    assert time_of(settled(page)) == left
    assert not ask(page, "return ride.playing")
    page.get_by_role("textbox", name="English sentence").fill("I like dogs.")
    page.wait_for_function("() => location.search.includes('dogs')")
    expect(page.locator(".st-key-home_translation")).to_contain_text("Hunde")
    expect(page.locator(".stage .range")).to_have_js_property("value", "0")


def test_on_a_phone_each_stop_shows_what_the_caption_speaks_of(
    new_page: Callable[..., Page], serve: Callable[..., str]
) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    in_app(page, serve, f"?sentence={SENTENCE}")
    ask(page, "ride.speed = arg", QUICK)
    page.locator(".transport").get_by_role("button", name="Play", exact=True).click()
    for _ in range(7):
        onward = page.locator(".card .onward")
        onward.wait_for()
        expect(page.locator(".picture")).to_be_in_viewport(ratio=0.99)  # a scroll may end within a pixel of its end
        expect(page.locator(".caption")).to_be_in_viewport(ratio=1)
        works, rests = ask(
            page,
            "const { boxes } = ride.scene; return [true, false].map((on) => boxes.find((one) => one.active === on).h)",
        )
        assert works > 1.5 * rests
        onward.click()


def test_on_the_first_screen_of_home_stands_the_whole_stage(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve)
    expect(page.locator(".transport")).to_be_in_viewport(ratio=1)
    go_to(page, "attention")
    page.get_by_role("button", name="Step inside").click()
    page.get_by_role("button", name="How is it worked out?").click()
    worked = page.locator(".st-key-asked")
    expect(worked).to_contain_text("How did this")
    expect(worked).to_contain_text("Encoder, layer 1, self-attention, how much one piece looks at another: head 1,")
    expect(worked).to_be_in_viewport(ratio=0.9)
    expect(worked.get_by_role("link")).to_contain_text("Self-attention")
    page.wait_for_timeout(3000)  # it keeps the answer in sight for so long
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    expect(worked).not_to_be_in_viewport()
    page.get_by_role("button", name="How is it worked out?").click()
    expect(worked).to_be_in_viewport(ratio=0.9)


def test_in_a_lesson_the_machine_stands_at_its_block_and_opens_whole(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve, f"encoder-decoder-attention?sentence={SENTENCE}")
    expect(page.locator(".clip .transport")).to_be_in_viewport(ratio=1)
    expect(caption(page)).to_contain_text("The query is made from the decoder's own column of <sos>")
    page.get_by_role("button", name="The whole machine").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".stage[data-id]").wait_for()
    expect(dialog.locator(".caption")).to_contain_text("Now it reads the memory.")
    expect(dialog.locator(".transport")).to_be_in_viewport(ratio=1)
    dialog.get_by_role("button", name="Step inside").click()
    dialog.get_by_role("grid").wait_for()
    dialog.get_by_role("button", name="How is it worked out?").click()
    expect(dialog.locator(".st-key-asked")).to_contain_text("How did this")
    page.keyboard.press("Escape")
    expect(dialog.get_by_role("grid")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_the_theatre_opens_the_machine_at_its_step(page: Page, serve: Callable[..., str]) -> None:
    in_app(page, serve, f"inference?sentence={SENTENCE}&at=3")
    page.get_by_role("button", name="Watch this step in the machine").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".stage[data-id]").wait_for()
    third = pieces([translated(SENTENCE).labels[2]])[0].text
    expect(dialog.locator(".caption")).to_contain_text(f"It writes “{third}”, with ")
