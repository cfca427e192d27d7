// Every family of operators: a function that gives its OpDefs, and its line in the list that fills the catalogue.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

using Family = Operators (*)();

// communication/
Operators two_bit_operators();
// control/
Operators control_flow_operators();
Operators custom_operators();
// creation/
Operators constant_operators();
Operators positional_operators();
Operators range_operators();
// index/
Operators advanced_index_operators();
Operators along_axis_operators();
Operators basic_index_operators();
Operators gather_nd_operators();
Operators insert_delete_operators();
Operators mask_operators();
Operators one_hot_operators();
Operators take_operators();
// optimizer/
Operators adagrad_operators();
Operators adaptive_operators();
Operators multi_update_operators();
Operators preloaded_operators();
Operators sgd_operators();
// pointwise/
Operators activation_operators();
Operators add_n_operators();
Operators binary_operators();
Operators cast_operators();
Operators choice_operators();
Operators exponential_operators();
Operators rounding_operators();
Operators steering_operators();
Operators trigonometric_operators();

// linalg/
Operators attention_operators();
Operators dot_operators();
Operators batched_operators();
Operators cholesky_operators();
Operators eigen_operators();
Operators lq_operators();
Operators lu_operators();
Operators singular_value_operators();
Operators tensor_system_operators();
Operators triangle_operators();
Operators einsum_operators();
Operators tensor_product_operators();

// convolution/
Operators convolution_operators();
Operators deconvolution_operators();
Operators fused_convolution_operators();

// detection/
Operators anchor_operators();
Operators box_coding_operators();
Operators mask_target_operators();
Operators multibox_detection_operators();
Operators multibox_target_operators();
Operators overlap_operators();
Operators proposal_operators();
Operators roi_align_operators();
Operators roi_pooling_operators();
Operators rotated_align_operators();
Operators sensitive_pooling_operators();
Operators suppression_operators();

// image/
Operators border_operators();
Operators decode_operators();
Operators detection_record_operators();
Operators image_flip_operators();
Operators image_jitter_operators();
Operators image_operators();
Operators record_operators();
Operators resize_operators();
Operators scale_operators();

// nn/
Operators ctc_loss_operators();
Operators dropout_operators();
Operators fully_connected_operators();
Operators output_operators();
Operators sequence_operators();
Operators sparse_regularization_operators();

// normalization/
Operators batch_norm_operators();
Operators group_norm_operators();
Operators local_norm_operators();

// pooling/
Operators pooling_operators();
Operators pooling_v1_operators();

// quantization/
Operators calibrate_operators();
Operators intgemm_operators();
Operators quantize_operators();
Operators quantized_element_operators();
Operators quantized_layer_operators();

// random/
Operators density_operators();
Operators hawkes_operators();
Operators uniform_normal_operators();
Operators draw_operators();
Operators multinomial_operators();
Operators random_integer_operators();
Operators random_like_operators();
Operators np_sampler_operators();

// reduce/
Operators arg_reduce_operators();
Operators check_operators();
Operators cumsum_operators();
Operators extreme_operators();
Operators layer_norm_operators();
Operators logic_operators();
Operators norm_operators();
Operators linalg_norm_operators();
Operators statistics_operators();
Operators product_operators();
Operators softmax_operators();
Operators sum_operators();
Operators variance_operators();

// rnn/
Operators quantized_rnn_operators();
Operators rnn_library_operators();
Operators rnn_operators();

// shape/
Operators broadcast_operators();
Operators diagonal_operators();
Operators join_operators();
Operators pad_operators();
Operators difference_operators();
Operators rearrange_operators();
Operators reshape_operators();
Operators slice_operators();
Operators split_operators();
Operators transpose_operators();

// signal/
Operators count_sketch_operators();
Operators fourier_operators();

// sparse/
Operators cast_storage_operators();
Operators graph_part_operators();
Operators graph_sample_operators();
Operators retain_operators();
Operators row_scale_operators();
Operators scatter_operators();
Operators stored_count_operators();

// spatial/
Operators column_operators();
Operators correlation_operators();
Operators deformable_operators();
Operators deformable_pooling_operators();
Operators grid_operators();
Operators sampler_operators();

// sort/
Operators sort_operators();
Operators unique_operators();

inline constexpr Family kFamilies[] = {
    two_bit_operators,
    control_flow_operators,
    custom_operators,
    constant_operators,
    positional_operators,
    range_operators,
    advanced_index_operators,
    along_axis_operators,
    basic_index_operators,
    gather_nd_operators,
    insert_delete_operators,
    mask_operators,
    one_hot_operators,
    take_operators,
    adagrad_operators,
    adaptive_operators,
    multi_update_operators,
    preloaded_operators,
    sgd_operators,
    activation_operators,
    add_n_operators,
    binary_operators,
    cast_operators,
    choice_operators,
    exponential_operators,
    rounding_operators,
    steering_operators,
    trigonometric_operators,
    attention_operators,
    dot_operators,
    batched_operators,
    cholesky_operators,
    eigen_operators,
    lq_operators,
    lu_operators,
    singular_value_operators,
    tensor_system_operators,
    triangle_operators,
    einsum_operators,
    tensor_product_operators,
    batch_norm_operators,
    convolution_operators,
    ctc_loss_operators,
    anchor_operators,
    box_coding_operators,
    mask_target_operators,
    multibox_detection_operators,
    multibox_target_operators,
    overlap_operators,
    proposal_operators,
    roi_align_operators,
    roi_pooling_operators,
    rotated_align_operators,
    sensitive_pooling_operators,
    suppression_operators,
    border_operators,
    decode_operators,
    detection_record_operators,
    deconvolution_operators,
    dropout_operators,
    fully_connected_operators,
    fused_convolution_operators,
    group_norm_operators,
    image_flip_operators,
    image_jitter_operators,
    image_operators,
    local_norm_operators,
    output_operators,
    pooling_operators,
    pooling_v1_operators,
    calibrate_operators,
    intgemm_operators,
    quantize_operators,
    quantized_element_operators,
    quantized_layer_operators,
    record_operators,
    resize_operators,
    scale_operators,
    sequence_operators,
    sparse_regularization_operators,
    uniform_normal_operators,
    density_operators,
    draw_operators,
    hawkes_operators,
    multinomial_operators,
    random_integer_operators,
    random_like_operators,
    np_sampler_operators,
    arg_reduce_operators,
    check_operators,
    cumsum_operators,
    extreme_operators,
    layer_norm_operators,
    logic_operators,
    norm_operators,
    linalg_norm_operators,
    statistics_operators,
    product_operators,
    softmax_operators,
    sum_operators,
    variance_operators,
    quantized_rnn_operators,
    rnn_library_operators,
    rnn_operators,
    broadcast_operators,
    diagonal_operators,
    join_operators,
    pad_operators,
    difference_operators,
    rearrange_operators,
    reshape_operators,
    slice_operators,
    split_operators,
    transpose_operators,
    count_sketch_operators,
    fourier_operators,
    cast_storage_operators,
    graph_part_operators,
    graph_sample_operators,
    retain_operators,
    row_scale_operators,
    scatter_operators,
    stored_count_operators,
    column_operators,
    correlation_operators,
    deformable_operators,
    deformable_pooling_operators,
    grid_operators,
    sampler_operators,
    sort_operators,
    unique_operators,
};

}  // namespace headrace
