// What users test with is what our tests use: a file that imports this module sees the kit too.
@_exported public import CompositeOperationsTestKit
