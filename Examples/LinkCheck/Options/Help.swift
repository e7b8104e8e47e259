/// What `--help` prints.
enum Help {
  static let text = """
    LinkCheck: checks the links of Markdown and HTML files.

    usage: LinkCheck [options] path …

    A path is a Markdown (.md, .markdown) or HTML (.html, .htm) file, or a folder that is searched for such files.
    Hidden files and folders are left out. Relative links and their #anchors are checked against the files, http and
    https links are requested once each, the others (mailto:, tel:, …) are counted.

    options:
      --offline              leave http and https links alone
      --strict               fail for unreachable links too, not only for broken ones
      --json                 print the report as JSON
      --width NUMBER         files read, and hosts asked, at the same time (default: 8)
      --per-host NUMBER      requests to one host at the same time (default: 2)
      --timeout SECONDS      how long one request may take (default: 15)
      --retries NUMBER       how often to ask again after 429, 5xx and failed connections (default: 2)
      --retry-delay SECONDS  pause before the first retry, doubled for each further one (default: 1);
                             a server's Retry-After is honoured instead
      --root FOLDER          where links like /guide.md start, and which no link may leave (default: the Git work
                             tree that a path is in, else the current folder, else the path's own folder)
      --timeline FILE.html   write a page that shows what ran when
      --help, -h             print this
      --                     what follows are paths, even if it begins with a dash

    exit status:
      0    all links are good (without --strict, some may be unreachable)
      1    there are broken links or unreadable files, or the report or the timeline could not be written
      2    the command line is wrong
      130  interrupted with Ctrl-C; what was found so far is printed

    The report goes to the standard output, progress to the standard error output.

    """
}
