"""A model in the Hugging Face format: its pieces, its attention, what it predicts."""

from functools import partial

import streamlit as st

from figures.grouping import grouped
from hub.attention import AttentionMaps
from hub.bertviz_views import draw
from hub.downloads import Offer, fetch, is_being_fetched, look_up
from hub.export.counted import counted
from hub.local_models import ModelError, Settings, folder_of, listed
from hub.open_models import OURS, Shelf, confinement, own_models, shelf
from hub.reading_types import MAX_WRITTEN, ModelFacts, Reading
from model.files.loaded_model import LoadedModel
from serving.streamlit_private import DeltaGenerator
from ui import engine
from ui.components.head_grid import MEAN
from ui.controls.address import read_count, write_count
from ui.controls.segmented import one_of
from ui.course.notices import MAX_CHARS
from ui.course.sentence import KEY
from ui.text import bold, chance, in_markdown, piece
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.bertviz import bertviz
from ui.views.charts.bars import bars
from ui.views.external_models import SPECIAL, browse_maps, choose_model, refused, shown_groups

WHAT_IT_IS = {
    "encoder": "an **encoder**: it reads a whole sentence at once and can guess a piece that is covered",
    "decoder": "a **decoder**: it reads from left to right and says what comes next",
    "encoder-decoder": "an **encoder-decoder**: it reads one text and writes another",
}
WHAT_OURS_IS = (
    "This is one of the app's own models, written in the format of Hugging Face by `python -m hub.export` and opened "
    "by their library. So another program computes the numbers below, and they can be compared with those of the "
    "lessons."
)
N_PIECES = 2 * READABLE  # that are listed
HOW_TO_ADD = (
    "Put the folder of a model (config.json, tokenizer, safetensors) into `models/` beside the app, or into the folder "
    "that the setting `WALKTHROUGH_MODELS` names."
)
HOW_TO_FETCH = (
    "Or type the name of a model on the Hugging Face Hub above, such as `google-bert/bert-base-uncased`. You see how "
    "large it is, and nothing is fetched before you agree."
)


def open_model(settings: Settings, name: str) -> ModelFacts | None:
    """What is known of a model; None, with a message on the page, if it is not here yet or cannot be opened."""
    try:
        if name not in own_models() and folder_of(name, settings.root) is None:
            offer_download(settings, name)
            return None
        with st.spinner(f"Opening {in_markdown(name)}…"):
            return shelf(settings).facts(name)
    except ModelError as error:
        refused(str(error), error.detail)
        return None


@st.cache_data(ttl=300, max_entries=100, show_spinner="Asking the Hugging Face Hub…")
def offer_of(settings: Settings, name: str) -> Offer:
    """`look_up`, remembered, so that a click on the page does not ask the Hub again."""
    return look_up(name, settings, shelf(settings).freeable())


def offer_download(settings: Settings, name: str) -> None:
    """Show how large a model is that is not here, and fetch it if the visitor agrees.

    Raises: ModelError
    """
    offer = offer_of(settings, name)
    size = f"{offer.size / 1e6:,.1f} MB"
    st.info(f"The model {in_markdown(name)} is not here yet. Its files are {size} large.")
    if st.button(f"Fetch {size}", key="fetch") or is_being_fetched(name, settings):
        bar = st.progress(0.0)
        try:
            fetch(offer, settings, lambda part: show_progress(bar, part, size))
        except ModelError:
            bar.empty()
            raise
        st.rerun()


def show_progress(bar: DeltaGenerator, part: float, size: str) -> None:
    bar.progress(part, f"{part:.0%} of {size} are here. The download goes on if you leave this page.")


def choose_covered(facts: ModelFacts, reading: Reading) -> int | None:
    """Control for the piece to be covered; None for none. Kept in the address by its number."""
    key = f"cover/{reading.tokens}"

    def write() -> None:
        write_count("cover", st.session_state[key])

    chosen = st.selectbox(
        "Cover a piece and let the model guess it",
        range(len(reading.tokens) + 1),
        index=read_count("cover", len(reading.tokens) + 1),
        format_func=lambda i: f"{i} {piece(reading.tokens[i - 1])}" if i else "none",
        key=key,
        on_change=write,
        width=320,
        help=f"The model then reads {in_markdown(facts.mask_token or '')} there, as it did in training. You can also "
        "type that into the sentence yourself.",
    )
    return chosen - 1 if chosen else None


def show_count(ours: LoadedModel, n_parameters: int) -> None:
    """Which numbers of a model of the app nobody learned, and which learned ones the library does not open."""
    tables, zeros, left_out = engine.run(counted, ours)
    told = [f"Not all of the {n_parameters:,} numbers were learned."]
    if tables:
        told.append(f"{tables:,} are tables of sines and cosines for the positions, which this format counts too.")
    told.append(
        f"{zeros:,} are biases of the attention: this format has them and the lessons' model does not. Here they are 0."
    )
    if left_out:
        told.append(
            f"And {left_out:,} learned numbers are left out: this page opens the head that guesses covered pieces, but "
            "not the head that tells whether one sentence follows another."
        )
    st.markdown(" ".join(told))


@st.fragment
def show(facts: ModelFacts, name: str, models: Shelf, sentence: str) -> None:
    """Everything that a control of this page changes."""
    try:
        reading = models.read(name, sentence)
        if facts.can_guess and (covered := choose_covered(facts, reading)) is not None:
            reading = models.read(name, sentence, covered)
    except ModelError as error:
        refused(str(error), error.detail)
        return
    show_tokens(facts, reading)
    show_predictions(facts, reading)
    show_attention(reading)


def show_tokens(facts: ModelFacts, reading: Reading) -> None:
    st.markdown(
        f"The model cuts it into **{len(reading.tokens)} pieces** (*tokens*): "
        + " · ".join(in_markdown(token) for token in reading.tokens[:N_PIECES])
        + (" · …" if len(reading.tokens) > N_PIECES else "")
    )
    if reading.n_cut:
        st.caption(f"Only the first {facts.longest} pieces are read here. Left out: {reading.n_cut}.")


def show_predictions(facts: ModelFacts, reading: Reading) -> None:
    if not facts.predicts:
        st.info("The files hold no weights for the part that turns vectors into words, so this model predicts nothing.")
    if facts.predicts and facts.kind != "encoder":
        verb = "goes on" if facts.kind == "decoder" else "writes"
        text = bold(reading.written) if reading.written.strip() else "only special pieces, which have no letters."
        st.markdown(f"The model {verb}: {text}")
        st.caption(
            f"It takes the likeliest piece that its own settings allow, and stops after {MAX_WRITTEN} pieces at the "
            "latest."
        )
    if reading.predictions:
        st.subheader("What it thinks likely", anchor=False)
        st.markdown(f"Its ten likeliest guesses for {in_markdown(reading.predicted)}, with their probabilities:")
        bars(
            [piece(p.text) for p in reading.predictions],
            [p.probability for p in reading.predictions],
            "The likeliest pieces, with their probabilities",
        )
    if reading.covered:
        covered = reading.covered
        st.markdown(
            f"Covered was {bold(covered.text)}: it gets {chance(covered.probability)} and has rank {covered.rank:,} "
            f"among the {covered.among:,} pieces that the model knows."
        )


def show_attention(reading: Reading) -> None:
    st.subheader("Where it looks", anchor=False)
    by_label = {KINDS[maps.kind].label: maps for maps in reading.maps}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        label = next(iter(by_label))
        if len(by_label) > 1:
            label = one_of("Attention", list(by_label), key="foreign_kind", default=label)
        by_word = st.toggle("Group pieces into words", key="words", bind="query-params")
        hide = st.toggle("Hide special pieces", key="hide_special", bind="query-params", help=in_markdown(SPECIAL))
    maps = by_label.get(label) or reading.maps[0]
    rows = shown_groups(maps.rows, maps.row_words, maps.row_wholes, by_word, hide)
    columns = shown_groups(maps.columns, maps.column_words, maps.column_wholes, by_word, hide)
    chosen = browse_maps(maps.kind, maps.weights, maps.hidden, rows, columns, default=(0, MEAN))
    if hide:
        st.caption("Rows no longer add up to 1: the rest went to special pieces.")
    if st.toggle("Draw it with BertViz too", key="bertviz_too", bind="query-params"):
        shown = AttentionMaps(
            maps.kind,
            grouped(maps.weights, rows, columns),
            *(tuple(group.label for group in groups) for groups in (rows, columns)),
            *(tuple(range(len(groups))) for groups in (rows, columns)),
        )
        head = None if chosen.head == MEAN else chosen.head
        view = partial(draw, shown.first(READABLE), chosen.layer, head)
        bertviz(view, shown.weights.shape, shown.kind, chosen.head)


st.title("Any model", anchor=False)
st.markdown(
    "Send your sentence through another model and look at it in the same way. Most public models come in the format of "
    "Hugging Face, and so do those here. Only their numbers are read (safetensors files); no code that comes with a "
    "model is run."
)
settings = Settings.of()
if told := confinement(settings):
    st.warning(told)
own = own_models()
others = [name for name in listed(settings.root) if name not in own]
name = choose_model("Model", [*own, *others], "model", others[0] if others else OURS)
with st.expander("How do I add a model?", expanded=False):
    st.markdown(HOW_TO_ADD)
    if settings.downloads:
        st.markdown(HOW_TO_FETCH)
sentence = (st.session_state.get(KEY) or "")[:MAX_CHARS].strip()
if name and not sentence:
    st.info("There is nothing to read yet: type a sentence.")
elif name and (facts := open_model(settings, name)):
    st.markdown(
        f"**{in_markdown(name)}** is {WHAT_IT_IS[facts.kind]}. {facts.n_parameters:,} parameters, "
        f"type {in_markdown(facts.model_type)}."
    )
    if name in own:
        st.markdown(WHAT_OURS_IS)
        show_count(engine.model(own[name]), facts.n_parameters)
    show(facts, name, shelf(settings), sentence)
