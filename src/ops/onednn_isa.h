// Which instructions oneDNN may use.
#pragma once

namespace headrace::onednn {

// Keeps oneDNN from tiles (AMX) where a virtual machine announces them and hides how large they are: oneDNN would run
// into illegal instructions. Before the first use of oneDNN; leaves alone what the user has set.
void avoid_unusable_instructions();

// Whether the processor announces tiles and describes none.
bool hides_tiles() noexcept;

}  // namespace headrace::onednn
