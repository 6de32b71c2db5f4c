"""How many words of a model's translations are no German:
`python -m training.measure.invented_words TEST.tsv --words FILE…`.

Translates the English of TEST.tsv greedily. The word lists are German text of any kind: lines of `English<TAB>German`,
of German alone, or of one word, like /usr/share/dict/ngerman of the Debian package wngerman. A word is German if it
stands in them, if it is made of such words, or if the English has it too, as a name. Prints the share of those that are
not, for the translations and, to compare, for what people wrote; by the number of pieces; and the words.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from experiments.writing.batched_translation import translate_together
from experiments.writing.lexicon import Lexicon, listed_words, words_of
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import load_folder
from model.text.tokenizer import Tokenizer
from training.evaluate import references

MANY = 4  # pieces, counted as one number from here on

Written = tuple[str, str]  # English, German


def by_pieces(tokenizer: Tokenizer, words: Iterable[str]) -> Counter[int]:
    """How many words are cut into how many pieces; MANY stands for all from there on."""
    return Counter(min(MANY, len(tokenizer.encode(word))) for word in words)


def report(lexicon: Lexicon, tokenizer: Tokenizer, written: Sequence[Written]) -> list[str]:
    """Lines with the share of words that are no German, overall and by the number of their pieces."""
    odd = [lexicon.invented(english, words_of(german)) for english, german in written]
    words = [word for _, german in written for word in words_of(german)]
    found = [word for one in odd for word in one]
    in_sentences = f"in {sum(map(bool, odd)):,} of {len(written):,} sentences"
    lines = [f"{len(found):,} of {len(words):,} words ({len(found) / len(words):.2%}), {in_sentences}"]
    all_of, odd_of = by_pieces(tokenizer, words), by_pieces(tokenizer, found)
    for n in sorted(all_of):
        many = "or more pieces" if n == MANY else "pieces" if n > 1 else "piece"
        share = all_of[n] / len(words)
        lines.append(f"  {n} {many}: {share:.1%} of the words; {odd_of[n] / all_of[n]:.2%} of them are no German")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.invented_words", description=__doc__)
    parser.add_argument("file", type=Path, help="sentence pairs that the model never saw")
    parser.add_argument("--words", type=Path, nargs="+", required=True, help="files with German words")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="folder of another model than the shipped one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    loaded, lexicon = load_folder(arguments.model), Lexicon(listed_words(arguments.words))
    groups = references(arguments.file)
    translated = list(zip(groups, translate_together(loaded, list(groups)), strict=True))
    print("The model:", *report(lexicon, loaded.tokenizer, translated), sep="\n")
    people = [(english, german[0]) for english, german in groups.items()]
    print("People:", *report(lexicon, loaded.tokenizer, people), sep="\n")
    found = (lexicon.invented(english, words_of(german)) for english, german in translated)
    print("No German:", *(word for words in found for word in words))


if __name__ == "__main__":
    main()
