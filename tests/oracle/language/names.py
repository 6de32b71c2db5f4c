"""Where the translator's attentions stand, by kind and layer: written down by hand, to be compared with its anatomy."""

ATTENTIONS = {
    "encoder": "encoder.layers.{}.self_attn",
    "decoder": "decoder.layers.{}.self_attn",
    "cross": "decoder.layers.{}.cross_attn",
}
