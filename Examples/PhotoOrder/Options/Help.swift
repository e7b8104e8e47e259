/// What `--help` prints.
enum Help {
  static let text = """
    PhotoOrder: orders prints of photos, as a workflow whose tasks can be cancelled, retried and reset.

    usage: PhotoOrder [options] [photo …]

    Each photo, of up to nine, is copied into the output folder, and its copy is compared with it by SHA-256. Without a
    photo, two samples are made up, which makes the workflow one of seven tasks:

      1 Create Project
      2 Photo 1 Available     a condition: you fulfil it
      3 Upload Photo 1        after 1 and 2
      4 Photo 2 Available     a condition
      5 Upload Photo 2        after 1 and 4
      6 Metadata Available    a condition
      7 Submit Order          after 3, 5 and 6: checks all copies once more

    On a terminal, a table shows how the tasks stand, and keys change that. Otherwise lines tell what happens, and a
    script takes the place of the keys; without a script, every condition is fulfilled, and the order runs to its end.

    options:
      --output FOLDER        where the order is put; must not exist (default: photo-order)
      --mermaid FILE         where the graph is drawn at the end; must not exist (default: order.mmd in the output folder)
      --title TEXT           the title of the order (default: Holiday photos)
      --script FILE          take commands from a file, or from the standard input if it is -
      --fail PROBABILITY     let attempts fail, from 0, none, to 1, all (default: 0)
      --seed NUMBER          which of them: the same seed lets the same attempts fail (default: made up, and told)
      --sample-width PIXELS  how wide sample photos are (default: 1600, which makes 5.8 MB each)
      --plain                print lines, also on a terminal
      --help, -h             print this
      --                     what follows are photos, even if it begins with a dash

    keys:
      ↑ ↓ j k 1-9  choose a task           f  fulfil a condition    h  hold a task, or let it go on
      Enter        do what comes next      n  refuse a condition    S C R X  start, cancel, retry, reset all
      s c r x      start, cancel, retry, reset the task             q  leave

    script: a command on each line; what follows a # is a comment
      start | cancel | retry | reset    TASK or all
      fulfill | reject                  CONDITION or all
      hold TASK PERCENT                 stop the task there, when it comes to that
      release                           TASK or all; let it go on
      wait                              until no task runs
      wait TASK STATE                   until it is pending, ready, executing, waiting, held, finished, failed or cancelled
      show                              print the table
      quit                              cancel what runs, and leave
    A TASK is a name, such as Upload Photo 1, or its number in the table. A script ends when nothing can go on.

    exit status:
      0    every task has finished
      1    the order is not complete, the script waited in vain, or a file could not be written
      2    the command line, the script or a photo is wrong; nothing was run
      129, 130, 131, 143   ended by SIGHUP, Ctrl-C (SIGINT), SIGQUIT, SIGTERM; the graph is drawn nevertheless

    """
}
