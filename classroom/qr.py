"""The address of a class as a QR code."""

import segno


def qr_code(text: str) -> str:
    """The code as a picture for an <img>: dark on white with its quiet edge, also where the page is dark."""
    uri: str = segno.make(text, error="m", micro=False).svg_data_uri(border=4, light="white", scale=4)
    return uri
