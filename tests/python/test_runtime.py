"""headrace.runtime tells what this build can do."""

import pytest

from headrace import runtime


def test_features():
    features = runtime.Features()
    assert features is runtime.Features()
    assert list(features) == [feature.name for feature in runtime.feature_list()]
    assert len(features) == 32
    assert features.is_enabled("MKLDNN")
    assert features.is_enabled("mkldnn")
    assert not features.is_enabled("CUDNN")
    assert "✔ MKLDNN" in repr(features)
    assert "✖ CUDNN" in repr(features)


def test_an_unknown_feature_is_named():
    with pytest.raises(RuntimeError, match="'SORCERY' is unknown, known features are"):
        runtime.Features().is_enabled("sorcery")
