import { expect, test } from "vitest";
import { issuerOf } from "../../../src/provider/http/issuer.ts";
import { issuerHere } from "../../../src/services/applications/issuer_here.ts";

const settings = [
  { publicUrl: undefined, tlsCertFile: "", port: 8080 },
  { publicUrl: undefined, tlsCertFile: "", port: 80 },
  { publicUrl: undefined, tlsCertFile: "cert.pem", port: 443 },
  { publicUrl: "https://Identity.Example.com/", tlsCertFile: "", port: 8080 },
  { publicUrl: "http://127.0.0.1:9000", tlsCertFile: "", port: 8080 },
];

test.each(settings)("services know the issuer that signs tokens, by whichever port they are called: %o", (of) => {
  for (const url of ["http://localhost:8080/x", "http://localhost:9000/x", "https://identity.example.com/x"])
    expect(issuerHere(of, { url })).toBe(issuerOf(of, of.port));
});

test("a node at a port that the system chose knows it by the call", () => {
  expect(issuerHere({ publicUrl: undefined, tlsCertFile: "", port: 0 }, { url: "http://localhost:34567/x" })).toBe(
    "http://localhost:34567",
  );
});
