"""The attentions of later lessons, on a lesson that comes before them."""

from tests.pages.kit import opened


def test_who_chose_a_later_attention_finds_the_way_back() -> None:
    app = opened("query-key-value", attention="Masked decoder")
    for kind in ("Encoder", "Encoder-decoder"):
        app.button_group(key="attention").set_value(kind).run()
        assert app.button_group(key="attention").value == kind
