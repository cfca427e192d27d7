// Every family of operators: a function that gives its OpDefs, and its line in the list that fills the catalogue.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

using Family = std::vector<OpDef> (*)();

// communication/
std::vector<OpDef> two_bit_operators();
// control/
std::vector<OpDef> control_flow_operators();
std::vector<OpDef> custom_operators();
// creation/
std::vector<OpDef> constant_operators();
std::vector<OpDef> positional_operators();
std::vector<OpDef> range_operators();
// index/
std::vector<OpDef> advanced_index_operators();
std::vector<OpDef> along_axis_operators();
std::vector<OpDef> basic_index_operators();
std::vector<OpDef> gather_nd_operators();
std::vector<OpDef> insert_delete_operators();
std::vector<OpDef> mask_operators();
std::vector<OpDef> one_hot_operators();
std::vector<OpDef> take_operators();
// optimizer/
std::vector<OpDef> adagrad_operators();
std::vector<OpDef> adaptive_operators();
std::vector<OpDef> multi_update_operators();
std::vector<OpDef> preloaded_operators();
std::vector<OpDef> sgd_operators();
// pointwise/
std::vector<OpDef> activation_operators();
std::vector<OpDef> add_n_operators();
std::vector<OpDef> binary_operators();
std::vector<OpDef> cast_operators();
std::vector<OpDef> choice_operators();
std::vector<OpDef> exponential_operators();
std::vector<OpDef> rounding_operators();
std::vector<OpDef> steering_operators();
std::vector<OpDef> trigonometric_operators();

// linalg/
std::vector<OpDef> attention_operators();
std::vector<OpDef> dot_operators();
std::vector<OpDef> batched_operators();
std::vector<OpDef> cholesky_operators();
std::vector<OpDef> eigen_operators();
std::vector<OpDef> lq_operators();
std::vector<OpDef> lu_operators();
std::vector<OpDef> singular_value_operators();
std::vector<OpDef> tensor_system_operators();
std::vector<OpDef> triangle_operators();
std::vector<OpDef> einsum_operators();
std::vector<OpDef> tensor_product_operators();

// convolution/
std::vector<OpDef> convolution_operators();
std::vector<OpDef> deconvolution_operators();
std::vector<OpDef> fused_convolution_operators();

// detection/
std::vector<OpDef> anchor_operators();
std::vector<OpDef> box_coding_operators();
std::vector<OpDef> mask_target_operators();
std::vector<OpDef> multibox_detection_operators();
std::vector<OpDef> multibox_target_operators();
std::vector<OpDef> overlap_operators();
std::vector<OpDef> proposal_operators();
std::vector<OpDef> roi_align_operators();
std::vector<OpDef> roi_pooling_operators();
std::vector<OpDef> rotated_align_operators();
std::vector<OpDef> sensitive_pooling_operators();
std::vector<OpDef> suppression_operators();

// image/
std::vector<OpDef> border_operators();
std::vector<OpDef> decode_operators();
std::vector<OpDef> detection_record_operators();
std::vector<OpDef> image_flip_operators();
std::vector<OpDef> image_jitter_operators();
std::vector<OpDef> image_operators();
std::vector<OpDef> record_operators();
std::vector<OpDef> resize_operators();
std::vector<OpDef> scale_operators();

// nn/
std::vector<OpDef> ctc_loss_operators();
std::vector<OpDef> dropout_operators();
std::vector<OpDef> fully_connected_operators();
std::vector<OpDef> output_operators();
std::vector<OpDef> sequence_operators();
std::vector<OpDef> sparse_regularization_operators();

// normalization/
std::vector<OpDef> batch_norm_operators();
std::vector<OpDef> group_norm_operators();
std::vector<OpDef> local_norm_operators();

// pooling/
std::vector<OpDef> pooling_operators();
std::vector<OpDef> pooling_v1_operators();

// quantization/
std::vector<OpDef> calibrate_operators();
std::vector<OpDef> intgemm_operators();
std::vector<OpDef> quantize_operators();
std::vector<OpDef> quantized_element_operators();
std::vector<OpDef> quantized_layer_operators();

// random/
std::vector<OpDef> density_operators();
std::vector<OpDef> hawkes_operators();
std::vector<OpDef> uniform_normal_operators();
std::vector<OpDef> draw_operators();
std::vector<OpDef> multinomial_operators();
std::vector<OpDef> random_integer_operators();
std::vector<OpDef> random_like_operators();
std::vector<OpDef> np_sampler_operators();

// reduce/
std::vector<OpDef> arg_reduce_operators();
std::vector<OpDef> check_operators();
std::vector<OpDef> cumsum_operators();
std::vector<OpDef> extreme_operators();
std::vector<OpDef> layer_norm_operators();
std::vector<OpDef> logic_operators();
std::vector<OpDef> norm_operators();
std::vector<OpDef> linalg_norm_operators();
std::vector<OpDef> statistics_operators();
std::vector<OpDef> product_operators();
std::vector<OpDef> softmax_operators();
std::vector<OpDef> sum_operators();
std::vector<OpDef> variance_operators();

// rnn/
std::vector<OpDef> quantized_rnn_operators();
std::vector<OpDef> rnn_operators();

// shape/
std::vector<OpDef> broadcast_operators();
std::vector<OpDef> diagonal_operators();
std::vector<OpDef> join_operators();
std::vector<OpDef> pad_operators();
std::vector<OpDef> difference_operators();
std::vector<OpDef> rearrange_operators();
std::vector<OpDef> reshape_operators();
std::vector<OpDef> slice_operators();
std::vector<OpDef> split_operators();
std::vector<OpDef> transpose_operators();

// signal/
std::vector<OpDef> count_sketch_operators();
std::vector<OpDef> fourier_operators();

// sparse/
std::vector<OpDef> cast_storage_operators();
std::vector<OpDef> graph_part_operators();
std::vector<OpDef> graph_sample_operators();
std::vector<OpDef> retain_operators();
std::vector<OpDef> row_scale_operators();
std::vector<OpDef> stored_count_operators();

// spatial/
std::vector<OpDef> column_operators();
std::vector<OpDef> correlation_operators();
std::vector<OpDef> deformable_operators();
std::vector<OpDef> deformable_pooling_operators();
std::vector<OpDef> grid_operators();
std::vector<OpDef> sampler_operators();

// sort/
std::vector<OpDef> sort_operators();
std::vector<OpDef> unique_operators();

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
