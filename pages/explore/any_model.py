"""Any Hugging Face model of the folder of models: its pieces, its attention, what it predicts."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from figures.grouping import grouped
from hub.attention import AttentionMaps
from hub.bertviz_views import draw
from hub.downloads import Offer, fetch, is_being_fetched, look_up
from hub.folders import ModelError, Settings, folder_of, listed
from hub.hugging_face import OpenModel
from hub.reading import MAX_WRITTEN, Reading
from hub.shelf import Shelf, shelf
from ui.components.head_grid import MEAN
from ui.controls.address import read_count, write_count
from ui.controls.segmented import one_of
from ui.course.notices import MAX_CHARS
from ui.course.sentence import KEY
from ui.text import bold, chance, in_markdown, piece
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.bars import bars
from ui.views.bertviz import bertviz
from ui.views.external_models import SPECIAL, browse_maps, choose_model, shown_groups

WHAT_IT_IS = {
    "encoder": "an **encoder**: it reads a whole sentence at once and can guess a piece that is covered",
    "decoder": "a **decoder**: it reads from left to right and says what comes next",
    "encoder-decoder": "an **encoder-decoder**: it reads one text and writes another",
}
N_PIECES = 2 * READABLE  # that are listed
HOW_TO_ADD = (
    "To add a model, put its folder (config.json, tokenizer, safetensors) into `models/` beside the app, or wherever "
    "the setting `WALKTHROUGH_MODELS` points. This project's own model goes there by "
    "`python -m hub.export models/walkthrough-en-de`."
)
HOW_TO_FETCH = (
    "Or type the name of a model on the Hugging Face Hub, such as `google-bert/bert-base-uncased`: you see how large "
    "it is, and nothing is fetched before you say so."
)


def open_model(settings: Settings, name: str) -> OpenModel | None:
    """The model; None if it is not there yet, or not to be opened, which is said."""
    try:
        if folder_of(name, settings.root) is None:
            offer(settings, name)
            return None
        with st.spinner(f"Opening {in_markdown(name)}…"):
            return shelf(settings).get(name)
    except ModelError as error:
        st.warning(in_markdown(str(error)))
        return None


@st.cache_data(ttl=300, max_entries=100, show_spinner="Asking the Hugging Face Hub…")
def asked(settings: Settings, name: str) -> Offer:
    """`look_up`, and not again for every click on the page."""
    return look_up(name, settings)


def offer(settings: Settings, name: str) -> None:
    """Say how large a model is that is not there, and fetch it if the visitor says so.

    Raises: ModelError
    """
    offered = asked(settings, name)
    size = f"{offered.size / 1e6:,.1f} MB"
    st.info(f"The model {in_markdown(name)} is not here yet. To fetch it takes {size}.")
    if st.button(f"Fetch {size}", key="fetch") or is_being_fetched(name, settings):
        bar = st.progress(0.0)
        try:
            fetch(offered, settings, lambda part: show_progress(bar, part, size))
        except ModelError:
            bar.empty()
            raise
        st.rerun()


def show_progress(bar: DeltaGenerator, part: float, size: str) -> None:
    bar.progress(part, f"{part:.0%} of {size} are here. It goes on if you leave this page.")


def covered(opened: OpenModel, reading: Reading) -> int | None:
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
        help=f"The model then reads {in_markdown(opened.tokenizer.mask_token)} there, as it did in training. You can "
        "also type that into the sentence yourself.",
    )
    return chosen - 1 if chosen else None


@st.fragment
def show(opened: OpenModel, models: Shelf, sentence: str) -> None:
    """Everything that a control of this page changes."""
    try:
        reading = models.read(opened.name, sentence)
        can_guess = opened.kind == "encoder" and opened.predicts and opened.tokenizer.mask_token_id is not None
        if can_guess and (hidden := covered(opened, reading)) is not None:
            reading = models.read(opened.name, sentence, hidden)
    except ModelError as error:
        st.warning(in_markdown(str(error)))
        return
    tokens(opened, reading)
    predictions(opened, reading)
    attention(reading)


def tokens(opened: OpenModel, reading: Reading) -> None:
    st.markdown(
        f"The model cuts it into **{len(reading.tokens)} pieces** (*tokens*): "
        + " · ".join(in_markdown(token) for token in reading.tokens[:N_PIECES])
        + (" · …" if len(reading.tokens) > N_PIECES else "")
    )
    if reading.n_cut:
        st.caption(f"The sentence is {reading.n_cut} pieces longer than the {opened.longest} that are read here.")


def predictions(opened: OpenModel, reading: Reading) -> None:
    if not opened.predicts:
        st.info("The file holds no weights for the part that turns vectors into words, so this model predicts nothing.")
    if opened.predicts and opened.kind != "encoder":
        verb = "goes on" if opened.kind == "decoder" else "writes"
        text = (
            bold(reading.written) if reading.written.strip() else "nothing but special pieces, which have no letters."
        )
        st.markdown(f"The model {verb}: {text}")
        st.caption(f"Always with the likeliest piece, {MAX_WRITTEN} pieces at most.")
    if reading.predictions:
        st.subheader("What it thinks likely", anchor=False)
        st.markdown(f"Its ten likeliest guesses for {in_markdown(reading.predicted)}, with their probabilities:")
        bars(
            [piece(p.text) for p in reading.predictions],
            [p.probability for p in reading.predictions],
            "The likeliest pieces, with their probabilities",
        )
    if reading.covered:
        hidden = reading.covered
        st.markdown(
            f"Covered was {bold(hidden.text)}: it gets {chance(hidden.probability)} and has rank {hidden.rank:,} among "
            f"the {hidden.among:,} pieces that the model knows."
        )


def attention(reading: Reading) -> None:
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
        st.caption("Rows are not renormalised: what they lack to 1 went to special pieces.")
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
    "Send your sentence through another model and look at it in the same way: models in the format of Hugging Face, "
    "where most public ones are found. Only their numbers are read (safetensors files); no code that comes with a "
    "model is run."
)
settings = Settings.of()
names = listed(settings.root)
name = choose_model("Model", names, "model", names[0] if names else None)
with st.expander("How do I add a model?", expanded=not names):
    st.markdown(HOW_TO_ADD)
    if settings.downloads:
        st.markdown(HOW_TO_FETCH)
sentence = (st.session_state.get(KEY) or "")[:MAX_CHARS].strip()
if name and not sentence:
    st.info("There is nothing to read yet: type a sentence.")
elif name and (opened := open_model(settings, name)):
    st.markdown(
        f"**{in_markdown(name)}** is {WHAT_IT_IS[opened.kind]}. {opened.n_parameters:,} parameters, "
        f"type {in_markdown(opened.model.config.model_type)}."
    )
    show(opened, shelf(settings), sentence)
