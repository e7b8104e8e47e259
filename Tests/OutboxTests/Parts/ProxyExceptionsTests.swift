import ExampleSupport
import Testing

@Suite struct ProxyExceptionsTests {
  @Test(arguments: [
    ("", "127.0.0.1,localhost"), ("*", "*"),
    ("intranet.example.org,.local", "intranet.example.org,.local,127.0.0.1,localhost"),
  ])
  func exceptionsOfTheUser_stay_besidesThisMachine(_ own: String, _ all: String) {
    #expect(ProxyExceptions.withThisMachine(own) == all)
  }
}
