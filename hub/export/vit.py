"""A Vision Transformer that reads digits as transformers' ViTForImageClassification.

The parts are the same. ViT's attention has biases; here its queries, keys and values have none, and the one behind the
heads is 0. A picture of one channel, ink from 0 to 1, goes in as it is: there is nothing to normalise.
"""

from typing import Any

from torch import Tensor

from hub.export.formats import LAYER_WORDS, Weights, patch_encoder, replaced, zero_biases
from model.families.pictures import PictureConfig
from model.files.load_pictures import SIZES, VIT

NAMES = {f"{VIT}-{n}": n for n in SIZES}
OURS_TO_THEIRS = {
    "embedding.class_token": "vit.embeddings.cls_token",
    "embedding.positions.table.weight": "vit.embeddings.position_embeddings",
    "embedding.project": "vit.embeddings.patch_embeddings.projection",
    "encoder.layers": "vit.layers",
    "encoder.norm": "vit.layernorm",
    **LAYER_WORDS,
    "head": "classifier",
}
USE = """
## How to use this folder
```python
import torch
from transformers import ViTForImageClassification

model = ViTForImageClassification.from_pretrained("FOLDER")
picture = torch.zeros(1, 1, 28, 28)  # one channel: 0 is paper, 1 is ink
print(model(picture).logits.argmax().item())
```
"""


def their_config(config: PictureConfig) -> dict[str, Any]:
    return {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "image_size": config.size,
        "patch_size": config.patch,
        "num_channels": 1,
        **patch_encoder(config),
    }


def their_weights(weights: Weights, config: PictureConfig) -> dict[str, Tensor]:
    """Ours under ViT's names: it cuts and projects by one convolution; [class] and the places have a batch."""
    theirs = {replaced(name, OURS_TO_THEIRS): weight for name, weight in weights.items()}
    for name, shape in {
        "vit.embeddings.cls_token": (1, 1, -1),
        "vit.embeddings.position_embeddings": (1, -1, config.d_model),
        "vit.embeddings.patch_embeddings.projection.weight": (config.d_model, 1, config.patch, config.patch),
    }.items():
        theirs[name] = theirs[name].reshape(shape)
    return {name: w.contiguous() for name, w in (theirs | zero_biases(theirs, r"attention\.o_proj")).items()}
