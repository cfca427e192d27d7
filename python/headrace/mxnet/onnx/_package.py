"""The package onnx, which is imported when it is first needed."""


def import_onnx(user):
    """The package onnx with the helpers used here. ImportError names the function `user` and the cure."""
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
        import onnx.shape_inference
    except ImportError as error:
        raise ImportError(f"{user} needs the package onnx: pip install onnx") from error
    return onnx
