"""The lesson on Add & Norm: a choice for each stack."""

from tests.pages.kit import component, opened


def test_each_stack_keeps_its_own_choice() -> None:
    app = opened("add-and-norm", stack="Decoder", layer="2", add_norm_decoder="after encoder-decoder attention")
    app.button_group(key="stack").set_value("Encoder").run()
    assert not app.exception
    assert component(app, "see_matrix")["csv_name"] == "encoder.layers.1.add_norm_2.output"
