"""`python -m serving.health URL`: ends well if the address answers with success. For containers, which have no curl."""

import sys

from serving.app_process import answers

if __name__ == "__main__":
    sys.exit(not answers(sys.argv[1]))
