"""What MXNet's documentation of symbols uses in its examples."""

__all__ = ["SymbolDoc"]


class SymbolDoc:
    """Base class of what MXNet keeps documentation in.

    Examples
    --------
    >>> from headrace.mxnet.symbol_doc import SymbolDoc
    >>> SymbolDoc.get_output_shape(sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc"), x=(3, 4))
    {'fc_output': (3, 2)}
    """

    @staticmethod
    def get_output_shape(sym, **input_shapes):
        """The outputs' names and shapes, for the shapes of inputs by name."""
        _, shapes, _ = sym.infer_shape(**input_shapes)
        return dict(zip(sym.list_outputs(), shapes))
