"""The Transformer that the walkthrough shows: small enough to read, trained for real.

Axes: B batch, S source tokens, T target tokens, H heads.
Names: `src_ids` and `tgt_ids` go in, `labels` are the `tgt_ids` one step ahead, `memory` is the encoder's final output,
`logits` are scores before the last softmax; `q`, `k`, `v` queries, keys, values; `scores` before the softmax, `weights`
after it; `heads` the weighted sums. Masks are boolean, True = may attend.

Read in this order: in `parts` attention, masks, positions, feed_forward, norms, residual, layers, stacks; then
`families.encoder_decoder`, `decoding.strategies`.
"""
