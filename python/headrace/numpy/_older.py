"""Names that NumPy has dropped, and what they are names of."""

NAMES = {"alltrue": "all", "product": "prod", "row_stack": "vstack", "sometrue": "any"}
