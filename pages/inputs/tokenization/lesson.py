"""Lesson: from a sentence to numbers, and back again without a loss."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from explain import Blank, WorkedStep
from model.files.loaded_model import MODELS, LoadedModel
from model.text.bpe_replay import Merge, Merges
from model.text.tokenizer import SPECIALS, Tokenizer, normalise
from model.trace import Trace
from pages.inputs.tokenization.five_ways import compare, sizes
from pages.inputs.tokenization.merging import replay
from pages.inputs.tokenization.questions import predict
from pages.inputs.tokenization.words import FIRST_MERGED, card, merges, n_bytes, n_characters, n_pieces, names
from ui.components.pieces import pieces
from ui.controls.address import read_pair, write_pair
from ui.controls.vocabulary_entry import hexadecimal
from ui.course.check import fill_in
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.sentence import KEY
from ui.text import in_markdown, visible
from ui.views.attention_kinds import READABLE
from ui.views.worked_steps import show_steps


def idea(trace: Trace) -> None:
    tokenizer = trace.model.tokenizer
    st.markdown(
        "A network works with numbers. So your sentence is cut into words, and the words into **pieces** (also called "
        f"*tokens*). Every piece has a number, its **id**: its place in a fixed list of {tokenizer.vocab_size:,} "
        "pieces, the **vocabulary**."
    )
    st.latex(r"\text{sentence}\to\text{words}\to\text{pieces}\to\text{ids}")
    with st.expander("Where the list comes from"):
        st.markdown(
            "Frequent words are one piece. A word that is not in the list falls apart into smaller pieces, in the end "
            "into single **bytes** (the numbers 0 to 255 in which computers store text)."
        )
        st.markdown(
            "The list was made before the model was trained. **Byte-pair encoding** read the training sentences as "
            "bytes and joined the two neighbours that occurred most often, again and again. That made "
            f"{len(merges(trace)):,} **merge rules**. A new sentence is cut by the same rules, in the same order."
        )
        pad, sos, eos = (f"**{in_markdown(name)}** ({tokenizer.backend.token_to_id(name)})" for name in SPECIALS)
        st.markdown(
            f"The ids go from 0 to {tokenizer.vocab_size - 1:,}. Three of them stand for no text: {sos} starts a "
            f"translation, {eos} ends a sentence, and {pad} fills up the shorter of several sentences that are "
            "computed together."
        )


def see(trace: Trace) -> None:
    tokens = trace.src[:READABLE]
    pieces(
        [card(trace, token) for token in tokens],
        key="see_pieces",
        title="Your sentence as the model gets it",
        how_to_read="Each card: the piece (␣ is a space, which belongs to the piece after it), its bytes in "
        "hexadecimal (base 16, 00 to FF), its id. A wider gap ends a word.",
        selected=chosen_piece(trace),
        on_select=lambda n: write_pair("cell", (0, n)),
    )
    if len(tokens) < len(trace.src):
        st.caption(f"Shown: the first {len(tokens)} of {len(trace.src)} cards.")
    back = trace.model.tokenizer.decode(trace.src_ids)
    st.markdown("**The ids, which are all that the model sees**")
    st.code(str(list(trace.src_ids)), language=None, wrap_lines=True)
    st.markdown("**And back**")
    st.code(visible(back), language=None, wrap_lines=True)
    st.caption(
        f"{n_characters(len(trace.text))}, {n_bytes(len(trace.text.encode()))}, {n_pieces(len(trace.src) - 1)} and "
        f"{in_markdown('<eos>')}. Turned back into text, the ids give "
        + ("exactly the text that was cut." if back == trace.text else "another text than the one that was cut.")
    )
    typed = str(st.session_state.get(KEY) or "")
    if not trace.n_cut and typed != trace.text:
        st.caption(
            "What you typed was tidied before it was cut, as the training text was: spaces in a row became one, "
            "quotation marks straight, a letter and its accent one sign. That part does not come back."
        )


def chosen_piece(trace: Trace) -> int:
    """The piece that Check explains: the one in the address, else the longest."""
    tokens = trace.src[:READABLE]
    lengths = [len(trace.model.tokenizer.piece_bytes(token.id)) if token.word >= 0 else 0 for token in tokens]
    return read_pair("cell", (1, len(tokens)), (0, lengths.index(max(lengths))))[1]


def check(trace: Trace) -> None:
    token = trace.src[chosen_piece(trace)]
    st.markdown(
        f"**How did {in_markdown(names(trace)[token.id])} become {token.id}?** "
        "Choose another piece by a click, or with Tab and Enter."
    )
    if token.id < len(SPECIALS):
        st.markdown(
            "This one stands for no text. It is added at the end of every sentence, so that the model sees where it "
            f"ends. The vocabulary begins with {len(SPECIALS)} such marks, and their ids are 0 to {len(SPECIALS) - 1}."
        )
    else:
        raw = trace.model.tokenizer.piece_bytes(token.id)
        st.markdown(f"It starts as {n_bytes(len(raw))}: `{hexadecimal(raw)}`.")
        st.markdown(merge_list(trace, token.id))
        step = worked_id(trace, token.id)
        show_steps([step])
        if step.blank:
            part = merges(trace).of_piece(token.id)[-2]
            st.markdown(f"Rule {part.rank:,} made **{in_markdown(names(trace)[part.joined])}**. What is its id?")
            fill_in(step.blank, key=f"id/{token.id}")
    if done := merges(trace).of_piece(token.id):
        rules = f"{len(done)} of the {len(merges(trace)):,} merge rules"
        st.caption(
            f"{rules} made this piece. Rule 1 joins the pair of neighbours that the training text had most often. "
            "Then all pairs were counted anew: rule 2 joins the pair that was most frequent by then, and so on."
        )
    with st.expander("Compute it yourself"):
        st.markdown("Download the model's own tokenizer, then run these lines in Python (`pip install tokenizers`).")
        st.download_button(
            "tokenizer.json",
            (tokenizer_folder(trace.model) / "tokenizer.json").read_bytes,
            "tokenizer.json",
            on_click="ignore",
        )
        st.code(snippet(trace.text, merges(trace), token.id), language="python", wrap_lines=True)
        st.caption("The file writes every byte as one visible sign; Ġ is the space.")


def merge_list(trace: Trace, token_id: int) -> str:
    """The merges that made a piece as a Markdown list, in order."""
    texts = names(trace)
    return "\n".join(
        f"{n}. Rule **{m.rank:,}** joins {in_markdown(texts[m.left])} and {in_markdown(texts[m.right])} into "
        f"**{in_markdown(texts[m.joined])}**"
        for n, m in enumerate(merges(trace).of_piece(token_id), 1)
    )


def worked_id(trace: Trace, token_id: int) -> WorkedStep:
    """How a piece's id follows from the rule that made it; a single byte's was fixed before any rule was learned."""
    done = merges(trace).of_piece(token_id)
    if not done:
        return WorkedStep(
            f"A single byte needs no rule. The bytes have the ids from {len(SPECIALS)} to {FIRST_MERGED - 1}.",
            rf"\text{{id}} = {token_id}",
            token_id,
        )
    total = f"{len(SPECIALS)} + 256 + {done[-1].rank} - 1"
    return WorkedStep(
        f"Rule {done[-1].rank:,} made this piece. The vocabulary begins with {len(SPECIALS)} marks and 256 bytes; then "
        "comes one new piece for each rule. Ids count from 0, rules from 1, so 1 is taken away.",
        f"{total} = {token_id}",
        token_id,
        blank=part_of(done),
    )


def part_of(done: Sequence[Merge]) -> Blank | None:
    """The id of the part that was made last before the piece itself, for the learner to work out."""
    if len(done) < 2:
        return None
    return Blank(f"{len(SPECIALS)} + 256 + {done[-2].rank} - 1", done[-2].joined, digits=0)


def tokenizer_folder(loaded: LoadedModel) -> Path:
    """Where a model's tokenizer lies."""
    return MODELS / loaded.vocabulary_name


def snippet(text: str, rules: Merges, token_id: int) -> str:
    """Python that finds the piece's id again, and the ranks of its merges, with the `tokenizers` library."""
    entry = rules.tokenizer.backend.id_to_token
    lines = [
        "import json",
        "from pathlib import Path",
        "from tokenizers import Tokenizer",
        "",
        't = Tokenizer.from_file("tokenizer.json")',
        "t.encode_special_tokens = True  # what is typed is text, never a mark",
        f"t.encode({text!a}, add_special_tokens=False).ids",
        f"t.token_to_id({entry(token_id)!a})  # {token_id}",
    ]
    if done := rules.of_piece(token_id):
        lines += ["", 'merges = json.loads(Path("tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]']
        lines += [f"merges.index([{entry(m.left)!a}, {entry(m.right)!a}]) + 1  # {m.rank}" for m in done]
    return "\n".join(lines)


def do(trace: Trace) -> None:
    trials = {"Merge by merge": replay, "Five ways to cut": compare, "Vocabulary size": sizes}
    for tab, trial in zip(st.tabs(list(trials)), trials.values(), strict=True):
        with tab:
            trial(trace)


LESSON = Lesson(
    "tokenization",
    "Tokenization",
    asks="How does a sentence become numbers?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(Tokenizer.encode, Tokenizer.tokens, normalise, Merges),
    on_map=OnMap(opens=("tokenize",), plays=("pieces",)),
)
