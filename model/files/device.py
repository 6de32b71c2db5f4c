"""Where the model runs: a GPU if there is one that works, else the CPU."""

import platform
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Device:
    """A device, its name for people, and a sentence about what went wrong on the way to it (or '')."""

    torch: torch.device
    label: str
    note: str = ""


CPU = Device(torch.device("cpu"), "CPU")  # for those who ask for it, whatever there is


def _works(device: torch.device) -> str:
    """'' if a small product comes out right on the device, else what went wrong."""
    try:
        ones = torch.ones(8, 8, device=device)
        return "" if (ones @ ones).sum().item() == 512 else "it computes wrong results"
    except Exception as error:  # drivers raise whatever they like; each means: not this one
        return str(error).splitlines()[0]


def pick_device() -> Device:
    """CUDA, then Apple's MPS, then the CPU: the first that is there and works."""
    notes: list[str] = []
    for kind, available in (("cuda", torch.cuda.is_available), ("mps", torch.backends.mps.is_available)):
        if not available():
            continue
        device = torch.device(kind)
        if not (fault := _works(device)):
            name = torch.cuda.get_device_name() if kind == "cuda" else "Apple GPU"
            return Device(device, f"GPU · {name}")
        notes.append(f"The GPU ({kind}) could not be used: {fault}. The model runs on the CPU instead.")
    return Device(torch.device("cpu"), f"CPU · {platform.machine()}", " ".join(notes))
