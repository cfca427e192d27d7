// The index of all operators: one line per family.

#include "op/catalogue.h"
#include "ops/families.h"

namespace headrace {

void add_all_families(Catalogue& catalogue) {
  for (auto family : kFamilies) catalogue.add(family());
}

}  // namespace headrace
