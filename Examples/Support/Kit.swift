// What command-line programs have in common: a file that imports this module sees it too.
@_exported import CompositeOperationsCommandLine
