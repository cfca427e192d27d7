"""The lists of float16."""

from .names import others, with_aliases

# What is worth it, and safe.
FP16_FUNCS = ["Convolution", "Deconvolution", "FullyConnected", "RNN"]

# What leaves the range of float16, or sums many numbers.
FP32_FUNCS = with_aliases(
    [
        *("Custom", "_NDArray", "_Native", "khatri_rao", "moments"),
        *("arccos", "arcsin", "arctanh", "cosh", "sinh", "tan", "erfinv", "gamma", "gammaln"),
        *("exp", "expm1", "log", "log10", "log1p", "log2"),
        *("square", "reciprocal", "rsqrt", "rcbrt", "broadcast_power", "broadcast_hypot"),
        *("_power", "_power_scalar", "_rpower_scalar", "_rdiv_scalar", "_hypot", "_hypot_scalar"),
        *("sum", "nansum", "prod", "nanprod", "mean", "norm", "_square_sum", "argsort", "topk"),
        *("softmax", "softmin", "log_softmax", "SoftmaxActivation", "softmax_cross_entropy", "smooth_l1"),
        *("InstanceNorm", "LayerNorm", "GroupNorm", "L2Normalization", "LRN", "_contrib_SyncBatchNorm"),
        *("SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"),
        *("SVMOutput", "MakeLoss", "make_loss", "CTCLoss", "IdentityAttachKLSparseReg"),
        *("_linalg_gemm", "_linalg_gemm2", "_linalg_syrk", "_linalg_syevd", "_linalg_gelqf", "_linalg_potrf"),
        *("_linalg_potri", "_linalg_trmm", "_linalg_trsm", "_linalg_sumlogdiag", "_linalg_inverse"),
        *("_linalg_makediag", "_linalg_extractdiag", "_linalg_maketrian", "_linalg_extracttrian"),
        *("_linalg_det", "_linalg_slogdet", "_contrib_hawkesll", "_contrib_count_sketch", "_contrib_fft"),
        *("_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"),
        *("_contrib_DeformableConvolution", "_contrib_DeformablePSROIPooling"),
    ]
)

# In float32 when an argument has one of these values.
CONDITIONAL_FP32_FUNCS = [
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
]

# What needs inputs of one dtype.
WIDEST_TYPE_CASTS = with_aliases(
    [
        *("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_scatter_elemwise_div", "_mod"),
        *("_equal", "_not_equal", "_greater", "_greater_equal", "_lesser", "_lesser_equal"),
        *("_logical_and", "_logical_or", "_logical_xor", "_maximum", "_minimum"),
        *("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_mod"),
        *("broadcast_equal", "broadcast_not_equal", "broadcast_greater", "broadcast_greater_equal"),
        *("broadcast_lesser", "broadcast_lesser_equal", "broadcast_maximum", "broadcast_minimum"),
        *("broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor"),
        *("Concat", "Correlation", "add_n", "batch_dot", "dot", "stack", "where"),
        *("_contrib_MultiProposal", "_contrib_Proposal", "_contrib_PSROIPooling", "_contrib_ROIAlign"),
        *("_contrib_box_iou", "_contrib_box_nms", "_contrib_edge_id", "_contrib_dgl_adjacency"),
        *("_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt"),
        *("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"),
        *("_random_pdf_uniform", "_random_pdf_normal", "_random_pdf_gamma", "_random_pdf_exponential"),
        *("_random_pdf_poisson", "_random_pdf_negative_binomial", "_random_pdf_dirichlet"),
        "_random_pdf_generalized_negative_binomial",
    ]
)

# What computes in the dtype that it is given.
FP16_FP32_FUNCS = [
    *others(FP16_FUNCS, FP32_FUNCS, WIDEST_TYPE_CASTS, [name for name, _, _ in CONDITIONAL_FP32_FUNCS]),
    *with_aliases(["BatchNorm"]),
]

# Their gradient is scaled as a loss is.
LOSS_OUTPUT_FUNCTIONS = [
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
]
