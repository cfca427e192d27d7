"""What `import mxnet` finds in processes started by a program that runs under `python -m headrace.mxnet`.

The runner puts the folder above on sys.path, which multiprocessing hands to its children.
"""

import headrace.mxnet

headrace.mxnet.install()
