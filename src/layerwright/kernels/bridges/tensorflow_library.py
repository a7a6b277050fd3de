"""The C API of TensorFlow, for Python and for machine code.

Source: `tensorflow/c/kernels.h`, `ops.h`, `tf_status.h`, `tf_tensor.h`, which the installed TensorFlow ships.
"""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any

import llvmlite.binding as llvm
import tensorflow as tf
from numba.core import types

from layerwright.kernels.machine import external

OK, UNKNOWN, INVALID_ARGUMENT, UNIMPLEMENTED = 0, 2, 3, 12  # TF_Code
# TF_DataType
CODES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "int64": 9,
    "bool": 10,
    "uint16": 17,
    "uint32": 22,
    "uint64": 23,
}
_POINTER, _INT, _VOID = types.int64, types.int32, types.void


def _library() -> ctypes.CDLL:
    (path, *_) = sorted(pathlib.Path(tf.sysconfig.get_lib()).glob("libtensorflow_framework.so*"))
    return ctypes.CDLL(str(path))


_exported = _library()


def _declared(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the library for machine code; AttributeError where this TensorFlow hasn't it."""
    llvm.add_symbol(name, ctypes.cast(getattr(_exported, name), ctypes.c_void_p).value)
    return external(name, result, *arguments)


def _callable(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the library for Python."""
    function = getattr(_exported, name)
    function.restype, function.argtypes = result, arguments
    return function


# For machine code. Pointers, sizes and int64 are one type there.
new_status = _declared("TF_NewStatus", _POINTER)
delete_status = _declared("TF_DeleteStatus", _VOID, _POINTER)
get_code = _declared("TF_GetCode", _INT, _POINTER)
set_status = _declared("TF_SetStatus", _VOID, _POINTER, _INT, _POINTER)

number_of_inputs = _declared("TF_NumInputs", _INT, _POINTER)
number_of_outputs = _declared("TF_NumOutputs", _INT, _POINTER)
get_input = _declared("TF_GetInput", _VOID, _POINTER, _INT, _POINTER, _POINTER)
forward_or_allocate = _declared(
    "TF_ForwardInputOrAllocateOutput", _POINTER, _POINTER, _POINTER, _INT, _INT, _POINTER, _INT, _POINTER, _POINTER
)
compute_failed = _declared("TF_OpKernelContext_Failure", _VOID, _POINTER, _POINTER)
delete_tensor = _declared("TF_DeleteTensor", _VOID, _POINTER)
tensor_type = _declared("TF_TensorType", _INT, _POINTER)
tensor_rank = _declared("TF_NumDims", _INT, _POINTER)
tensor_size = _declared("TF_Dim", types.int64, _POINTER, _INT)
tensor_data = _declared("TF_TensorData", _POINTER, _POINTER)

attribute_size = _declared(
    "TF_OpKernelConstruction_GetAttrSize", _VOID, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER
)
attribute_types = _declared(
    "TF_OpKernelConstruction_GetAttrTypeList", _VOID, _POINTER, _POINTER, _POINTER, _INT, _POINTER
)
creation_failed = _declared("TF_OpKernelConstruction_Failure", _VOID, _POINTER, _POINTER)

new_shape = _declared("TF_NewShapeHandle", _POINTER)
delete_shape = _declared("TF_DeleteShapeHandle", _VOID, _POINTER)
new_dimension = _declared("TF_NewDimensionHandle", _POINTER)
delete_dimension = _declared("TF_DeleteDimensionHandle", _VOID, _POINTER)
dimension_value = _declared("TF_DimensionHandleValue", types.int64, _POINTER)
shape_inputs = _declared("TF_ShapeInferenceContextNumInputs", types.int64, _POINTER)
shape_of_input = _declared("TF_ShapeInferenceContextGetInput", _VOID, _POINTER, _INT, _POINTER, _POINTER)
shape_rank = _declared("TF_ShapeInferenceContextRank", types.int64, _POINTER, _POINTER)
shape_dimension = _declared("TF_ShapeInferenceContextDim", _VOID, _POINTER, _POINTER, types.int64, _POINTER)
shape_scalar = _declared("TF_ShapeInferenceContextScalar", _POINTER, _POINTER)
shape_vector = _declared("TF_ShapeInferenceContextVectorFromSize", _POINTER, _POINTER, types.int64)
shape_part = _declared(
    "TF_ShapeInferenceContextSubshape", _VOID, _POINTER, _POINTER, types.int64, types.int64, _POINTER, _POINTER
)
shape_joined = _declared(
    "TF_ShapeInferenceContextConcatenateShapes", _VOID, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER
)
shape_of_output = _declared("TF_ShapeInferenceContextSetOutput", _VOID, _POINTER, _INT, _POINTER, _POINTER)
shapes_unknown = _declared("TF_ShapeInferenceContextSetUnknownShape", _VOID, _POINTER, _POINTER)

_WORD, _TEXT = ctypes.c_size_t, ctypes.c_char_p
_status = _callable("TF_NewStatus", _WORD)
_status_code = _callable("TF_GetCode", ctypes.c_int, _WORD)
_status_text = _callable("TF_Message", _TEXT, _WORD)
_status_end = _callable("TF_DeleteStatus", None, _WORD)
_definition = _callable("TF_NewOpDefinitionBuilder", _WORD, _TEXT)
_definition_input = _callable("TF_OpDefinitionBuilderAddInput", None, _WORD, _TEXT)
_definition_output = _callable("TF_OpDefinitionBuilderAddOutput", None, _WORD, _TEXT)
_definition_attribute = _callable("TF_OpDefinitionBuilderAddAttr", None, _WORD, _TEXT)
_definition_shapes = _callable("TF_OpDefinitionBuilderSetShapeInferenceFunction", None, _WORD, _WORD)
_definition_end = _callable("TF_RegisterOpDefinition", None, _WORD, _WORD)
_kernel = _callable("TF_NewKernelBuilder", _WORD, _TEXT, _TEXT, _WORD, _WORD, _WORD)
_kernel_end = _callable("TF_RegisterKernelBuilder", None, _TEXT, _WORD, _WORD)


def define_op(name: str, attributes: tuple[str, ...], infer: int) -> None:
    """Register an op with a list of inputs and one of outputs; a name twice would end the process.

    Args:
        name: Of the op.
        attributes: As `REGISTER_OP` writes them; `Tin` and `Tout` among them.
        infer: The address of its shape function.

    Raises:
        RuntimeError: Where TensorFlow refuses.
    """
    status, builder = _status(), _definition(name.encode())
    _definition_input(builder, b"inputs: Tin")
    _definition_output(builder, b"outputs: Tout")
    for attribute in attributes:
        _definition_attribute(builder, attribute.encode())
    _definition_shapes(builder, infer)
    _definition_end(builder, status)
    _finish(status)


def define_kernel(name: str, device: str, create: int, compute: int) -> None:
    """Register the machine code of an op for a kind of device.

    Raises:
        RuntimeError: Where TensorFlow refuses.
    """
    status = _status()
    _kernel_end(f"{name}.{device}".encode(), _kernel(name.encode(), device.encode(), create, compute, 0), status)
    _finish(status)


def _finish(status: int) -> None:
    code, said = _status_code(status), _status_text(status).decode()
    _status_end(status)
    if code != OK:
        raise RuntimeError(said)
