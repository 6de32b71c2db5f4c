"""`python -m hub.export`: see `hub.export.folder`."""

import sys

from hub.export.folder import main

if __name__ == "__main__":
    sys.exit(main())
