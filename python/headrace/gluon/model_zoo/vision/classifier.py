"""What networks that are features followed by an output share."""

from ...hybrid_block import HybridBlock


class Classifier(HybridBlock):
    """A network whose subclasses make `features` and `output`, each from the former's result."""

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))
