// Our tests use the kit that users test with: a file that imports this module sees the kit too.
@_exported public import CompositeOperationsTestKit
