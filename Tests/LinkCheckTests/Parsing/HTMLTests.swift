import Testing

@testable import LinkCheck

@Suite struct HTMLTests {
  @Test(
    arguments: [
      ("<a href=\"b.html\">x</a>", ["b.html"]),
      ("<A HREF='b.html'>x</A>", ["b.html"]),
      ("<a href=b.html>x</a><a href = c.html >y</a>", ["b.html", "c.html"]),
      ("<a\n  class=\"c\"\n  href=\"b.html\"\n>", ["b.html"]),
      ("<a href=\" b.html\n\">", ["b.html"]),
      ("<a href=\"b?x=1&amp;y=2\">", ["b?x=1&y=2"]),
      ("<a href=\"b?x=1&y=2\">", ["b?x=1&y=2"]),
      ("<a href=\"\">", []),
      ("<img src=\"\">", [""]),
      ("<img src=a.png srcset=\"b.png, c.png 2x,d.png 3x\">", ["a.png", "b.png", "c.png", "d.png"]),
      ("<img srcset=\"data:image/png;base64,AA== 1x, b,c.png 2x\">", ["data:image/png;base64,AA==", "b,c.png"]),
      ("<link rel=stylesheet href=a.css><script src=\"b.js\"></script>", ["a.css", "b.js"]),
      ("<link rel=\"preconnect\" href=\"https://a.org\">", []),
      ("<video poster=a.png><source src=b.mp4></video><iframe src=c.html>", ["a.png", "b.mp4", "c.html"]),
      ("<object data=a.svg></object>", ["a.svg"]),
      ("<!-- <a href=x.html> --><a href=a.html>", ["a.html"]),
      ("<!--><a href=a.html>", ["a.html"]),
      ("<a href=a.html><!-- <a href=x.html>", ["a.html"]),
      ("<script>'<a href=x.html>'</script><a href=a.html>", ["a.html"]),
      ("<style>a { b: '<a href=x.html>' }</style ><a href=a.html>", ["a.html"]),
      ("<textarea><a href=x.html></textarea><title><a href=x.html></title><a href=a.html>", ["a.html"]),
      ("<script>var unended = '<a href=x.html>'", []),
      ("<!DOCTYPE html><?xml version='1.0'?><a href=a.html>", ["a.html"]),
      ("1 < 2 <a href=a.html> <", ["a.html"]),
      ("<a title=\"a > b\" href=a.html>", ["a.html"]),
      ("<br/><img src=\"a.png\"/>", ["a.png"]),
      ("<a href=\"unended", []),
      ("<use xlink:href=\"a.svg#b\"/>", ["a.svg#b"]),
    ] as [(String, [String])])
  func links(_ text: String, _ destinations: [String]) {
    #expect(html(text).destinations == destinations)
  }

  @Test func anchors_areIdsAndNames() {
    let page = html("<h1 id=one>One</h1><a name='two'></a><p ID=\"three &amp; four\"><input name=five><h2>Six</h2>")
    #expect(page.anchors == ["one", "two", "three & four"])
  }

  @Test func lines_areThoseOfTheValues() {
    #expect(html("<p>\n<a\n href='3.html'>\n<img\nsrc=5.png>").placed == ["3 3.html", "5 5.png"])
  }

  @Test(
    arguments: [
      ("0; url=b.html", ["b.html"], true), ("5;URL='b.html?x=1&amp;y=2'", ["b.html?x=1&y=2"], true), ("30", [], false),
    ] as [(String, [String], Bool)])
  func refresh_isALinkThatForwards(_ content: String, _ destinations: [String], _ isForwarded: Bool) {
    let page = html("<meta HTTP-EQUIV=Refresh content=\"\(content)\">")
    #expect(page.destinations == destinations)
    #expect(page.isForwarded == isForwarded)
  }

  @Test func base_isTheFirst() {
    #expect(html("<base target=x><base href='/a/'><base href='/b/'>").base == "/a/")
  }

  @Test(arguments: [
    ("&lt;&gt;&quot;&apos;&nbsp;&uuml;&yuml;&eacute;", "<>\"'\u{A0}üÿé"),
    ("&#65;&#x42;&#X43;", "ABC"),
    ("&#0;&#xD800;&#x110000;", "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ("&unknown; &amp &; &#; &#x;", "&unknown; &amp &; &#; &#x;"),
    ("&amp;amp;", "&amp;"),
  ])
  func entities(_ text: String, _ decoded: String) {
    #expect(HTMLEntity.decoding(Array(text.utf8)[...]) == decoded)
  }
}
