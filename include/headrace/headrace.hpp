// All of the C++ frontend. The names are those of the Python package: headrace::nd, np and npx (operators),
// headrace::autograd, headrace::gluon, headrace::init, headrace::metric, headrace::random.
#pragma once

#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "headrace/communicator.hpp"
#include "headrace/devices.hpp"
#include "headrace/error.hpp"
#include "headrace/gluon/block.hpp"
#include "headrace/gluon/data.hpp"
#include "headrace/gluon/loss.hpp"
#include "headrace/gluon/nn.hpp"
#include "headrace/gluon/parameter.hpp"
#include "headrace/gluon/symbol_block.hpp"
#include "headrace/gluon/trainer.hpp"
#include "headrace/gluon/utils.hpp"
#include "headrace/init.hpp"
#include "headrace/invoke.hpp"
#include "headrace/kvstore.hpp"
#include "headrace/memory.hpp"
#include "headrace/metric.hpp"
#include "headrace/ndarray.hpp"
#include "headrace/operators.hpp"  // made from the catalogue at build time
#include "headrace/profiler.hpp"
#include "headrace/random.hpp"
#include "headrace/symbol.hpp"
