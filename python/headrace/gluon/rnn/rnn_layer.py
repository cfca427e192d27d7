"""Layers that compute all steps at once."""

from .fused_layer import FusedLayer

__all__ = ["GRU", "LSTM", "RNN"]

_RNNLayer = FusedLayer  # what MXNet's programs call it


def _initializers(i2h_weight, h2h_weight, i2h_bias, h2h_bias, h2r_weight=None):
    return {
        "i2h_weight": i2h_weight,
        "h2h_weight": h2h_weight,
        "i2h_bias": i2h_bias,
        "h2h_bias": h2h_bias,
        "h2r_weight": h2r_weight,
    }


class RNN(FusedLayer):
    """Layers of `h' = activation(W x + b + U h + c)` over a sequence; see RNNCell.

    Parameters
    ----------
    hidden_size : size of h.
    num_layers : layers on top of each other.
    activation : 'relu' or 'tanh'.
    layout : 'TNC' or 'NTC': the axes of inputs and outputs.
    dropout : rate of dropout in training between layers.
    bidirectional : whether every layer reads in both directions; outputs are joined along C.
    input_size : size of x; 0 takes it from the first input.
    dtype : of parameters and states.
    use_sequence_length : whether calls pass the lengths of the sequences.

    Examples
    --------
    >>> layer = gluon.rnn.RNN(hidden_size=4)
    >>> layer.initialize()
    >>> layer(nd.ones((5, 2, 3))).shape  # steps, sequences, channels
    (5, 2, 4)
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        activation="relu",
        layout="TNC",
        dropout=0,
        bidirectional=False,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        dtype="float32",
        **kwargs,
    ):
        initializers = _initializers(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype,
            **kwargs,
        )


class LSTM(FusedLayer):
    """Layers of long short-term memory over a sequence; see LSTMCell, and RNN for the parameters.

    With `projection_size` the output is projected to that size, as in contrib.rnn.LSTMPCell. Memories are
    kept between `state_clip_min` and `state_clip_max`; `state_clip_nan`: also those that are nan.

    Examples
    --------
    >>> layer = gluon.rnn.LSTM(hidden_size=4, num_layers=2, bidirectional=True)
    >>> layer.initialize()
    >>> output, states = layer(nd.ones((5, 2, 3)), layer.begin_state(batch_size=2))
    >>> output.shape, [state.shape for state in states]
    ((5, 2, 8), [(4, 2, 4), (4, 2, 4)])
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        layout="TNC",
        dropout=0,
        bidirectional=False,
        input_size=0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        projection_size=None,
        h2r_weight_initializer=None,
        state_clip_min=None,
        state_clip_max=None,
        state_clip_nan=False,
        dtype="float32",
        **kwargs,
    ):
        initializers = _initializers(
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            h2r_weight_initializer,
        )
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype,
            projection_size=projection_size,
            clip=(state_clip_min, state_clip_max, state_clip_nan),
            **kwargs,
        )


class GRU(FusedLayer):
    """Layers of gated recurrent units over a sequence; see GRUCell, and RNN for the parameters.

    Examples
    --------
    >>> layer = gluon.rnn.GRU(hidden_size=4, layout="NTC")
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 3))).shape
    (2, 5, 4)
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        layout="TNC",
        dropout=0,
        bidirectional=False,
        input_size=0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        dtype="float32",
        **kwargs,
    ):
        initializers = _initializers(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype,
            **kwargs,
        )
