/// What `--help` prints.
enum Help {
  static let text = """
    Forecast: shows the weather of the next days.

    usage: Forecast [options] city …

    A city is a name, or the beginning of one, with a country where there are several: Oslo, Lis, "Valencia, Spain".
    Without --server a small server with made-up weather is started, which asks for tokens and is busy now and then.

    options:
      --server URL           ask this server instead of the bundled one
      --days NUMBER          how many days to show (default: 7)
      --rate NUMBER          requests in a second on average, and as many at once (default: 5); retries at a busy
                             server and requests for tokens do not count
      --verbose, -v          tell what happens to each request
      --timeline FILE.html   write a page that shows what ran when
      --help, -h             print this
      --                     what follows are cities, even if it begins with a dash

    of the bundled server:
      --seed NUMBER          another weather, and other moments at which it is busy (default: 3)
      --date YYYY-MM-DD      the first day (default: today)
      --token-uses NUMBER    how many requests a token is good for (default: 5)

    exit status:
      0   all cities are shown
      1   a city was not found, the server could not be asked, or something could not be written
      64  the command line is wrong

    The weather goes to the standard output, everything else to the standard error output.

    """
}
