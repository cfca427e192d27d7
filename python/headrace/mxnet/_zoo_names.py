"""Parts of MXNet's networks of the model zoo that other networks are made of."""

from ..gluon.model_zoo.vision.densenet import stage, transition

__all__: list[str] = []


def _make_dense_block(num_layers, bn_size, growth_rate, dropout, stage_index):
    """The layers of a DenseNet's stage."""
    return stage(num_layers, growth_rate, bn_size, dropout, stage_index)


def _make_transition(num_output_features):
    """What halves the size between two stages of a DenseNet."""
    return transition(num_output_features)
