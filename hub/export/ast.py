"""A reader of sounds as transformers' ASTForAudioClassification.

The parts are the same. AST's attention has a bias behind the heads; ours has none, so theirs is 0. Its spectrograms lie
on their side: moments from top to bottom.
"""

from typing import Any

from torch import Tensor

from hub.export.formats import LAYER_WORDS, Weights, patch_encoder, replaced, zero_biases
from model.families.sounds import SoundConfig
from model.files.load_sounds import NEW_VOICE, VOICES

NAMES = {f"ast-{name}": name for name in (VOICES, NEW_VOICE)}
INSIDE = "audio_spectrogram_transformer"
OURS_TO_THEIRS = {
    "embedding.class_token": f"{INSIDE}.embeddings.cls_token",
    "embedding.distillation_token": f"{INSIDE}.embeddings.distillation_token",
    "embedding.positions.table.weight": f"{INSIDE}.embeddings.position_embeddings",
    "embedding.project": f"{INSIDE}.embeddings.patch_embeddings.projection",
    "encoder.layers": f"{INSIDE}.layers",
    "encoder.norm": f"{INSIDE}.layernorm",
    **LAYER_WORDS,
    "head_norm": "classifier.layernorm",  # before the next: it begins so, too
    "head": "classifier.dense",
}
USE = """
## How to use this folder
```python
import torch
from transformers import ASTForAudioClassification

model = ASTForAudioClassification.from_pretrained("FOLDER")
sound = torch.zeros(1, 64, 40)  # 64 moments, 40 pitches each: 0 is silence, 1 the loudest
print(model(sound).logits.argmax().item())
```
"""


def their_config(config: SoundConfig) -> dict[str, Any]:
    return {
        "architectures": ["ASTForAudioClassification"],
        "model_type": "audio-spectrogram-transformer",
        "num_mel_bins": config.pitches,
        "max_length": config.frames,
        "patch_size": config.high,  # a square
        "frequency_stride": config.high,
        "time_stride": config.wide,
        **patch_encoder(config),
    }


def their_weights(weights: Weights, config: SoundConfig) -> dict[str, Tensor]:
    """Ours under AST's names: it cuts and projects by one convolution; first rows and places have a batch."""
    theirs = {replaced(name, OURS_TO_THEIRS): weight for name, weight in weights.items()}
    for name, shape in {
        "cls_token": (1, 1, -1),
        "distillation_token": (1, 1, -1),
        "position_embeddings": (1, -1, config.d_model),
        "patch_embeddings.projection.weight": (config.d_model, 1, config.high, config.wide),
    }.items():
        theirs[f"{INSIDE}.embeddings.{name}"] = theirs[f"{INSIDE}.embeddings.{name}"].reshape(shape)
    return {name: w.contiguous() for name, w in (theirs | zero_biases(theirs, r"attention\.o_proj")).items()}
