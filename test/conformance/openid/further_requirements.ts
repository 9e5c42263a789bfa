import type { Requirement } from "./requirements.ts";

const attacks = "test/provider/attacks.test.ts";
const table = "test/provider/attack_table.test.ts";
const code = "test/provider/tokens/code.test.ts";
const discovery = "test/provider/tokens/discovery.test.ts";
const dpop = "test/provider/tokens/dpop.test.ts";
const proofs = "test/provider/request/dpop_attacks.test.ts";
const asked = "test/provider/peer/scenes_authorize.ts";
const pushed = "test/provider/pushed_requests/pushed_request_endpoint.test.ts";
const resource = "test/provider/request/resource.test.ts";
const signIn = "test/provider/sign_in/sign_in.test.ts";
const example = "test/clients/agent_example.test.ts";
const ownApi = "test/provider/request/own_api.test.ts";
const described = "both descriptions are the same, name this issuer, and each endpoint that they name is there";

/** What other specifications require that clients of this provider rely on. */
export const ofSpecifications: Readonly<Record<string, readonly Requirement[]>> = {
  "RFC 8414, authorization server metadata": [
    {
      section: "2; 3",
      says: "The same description stands at the path of OAuth.",
      shown: [[discovery, described]],
    },
    {
      section: "2",
      says: "Each grant type that is listed is taken.",
      shown: [
        [
          discovery,
          "the token endpoint takes every grant type of the description but implicit, whose tokens come without it",
        ],
      ],
    },
    {
      section: "RFC 9207, 2",
      says: "The issuer stands in each authorization response, as the description says.",
      shown: [
        [signIn, "state, nonce and issuer come back as they were sent, and the code comes by a page that leads on"],
      ],
    },
  ],
  "RFC 9728, protected resource metadata": [
    {
      section: "2; 3; 5.1",
      says: "The resource names its authorization server, and a call without a token is told where that stands.",
      shown: [
        [ownApi, "our API says where its tokens come from: in its metadata, and to whoever has none, at every door"],
        [example, "without a token for it, the server says where one is to be had"],
      ],
    },
  ],
  "RFC 8707, resource indicators": [
    {
      section: "2; 2.2",
      says: "A token is for the resource that was asked for alone; one that the client cannot have is invalid_target.",
      shown: [
        [
          resource,
          "a token is for the first resource unless the request names another, and for no other that was authorized",
        ],
        [
          resource,
          "no application names a resource of another project or tenant, one that nobody has, or ours beside it",
        ],
      ],
    },
  ],
  "RFC 9126, pushed authorization requests": [
    {
      section: "2.1",
      says: "The client authenticates as at the token endpoint, and no request_uri is pushed.",
      shown: [
        [
          pushed,
          "only the application itself may push: no wrong secret, no other method, no machine, no unknown client",
        ],
        [pushed, "a request_uri"],
      ],
    },
    {
      section: "2.1; 2.3",
      says: "What the authorization endpoint would refuse is refused at once, by the errors of OAuth.",
      shown: [[pushed, "what authorize would refuse is refused at once: %s"]],
    },
    {
      section: "2.2; 4",
      says: "A request_uri is of its client alone, cannot be guessed, lasts a minute, and counts once.",
      shown: [
        [pushed, "a request that one node took opens once, of ten tries at once on two nodes"],
        [pushed, "a request opens for its own application alone, and nothing in the URL is added to it"],
        [pushed, "a request is over after a minute, and the sweep deletes it"],
      ],
    },
    {
      section: "2.2",
      says: "The response is 201, with the request_uri and how long it lasts.",
      shown: [[pushed, "openid-client pushes a request and signs in by it"]],
    },
    {
      section: "5; 6",
      says: "Discovery names the endpoint, and a client that must push does nothing else.",
      shown: [
        [pushed, "openid-client pushes a request and signs in by it"],
        [
          pushed,
          "an application that must push gets invalid_request for a plain request, and another one may do either",
        ],
      ],
    },
  ],
  "RFC 9449, DPoP": [
    {
      section: "4.3",
      says: "A proof is a JWT of its own type, of now, for this method and URL, signed by the public key in its header with an algorithm that is listed.",
      shown: [
        [proofs, "is refused for a code, which stays as good as it was, and for a machine"],
        [proofs, "%s is an algorithm of proofs"],
        [proofs, "two headers are one too many"],
      ],
    },
    {
      section: "11.1",
      says: "A proof counts once.",
      shown: [[proofs, "a proof counts once: of ten at once on two nodes one is accepted, and none later"]],
    },
    {
      section: "5; 6",
      says: "Tokens for a request with a proof have the type DPoP and name the key; those of public clients are refreshed by it alone.",
      shown: [
        [
          dpop,
          "a refresh token of a public application is bound to the key of its code, and stolen without it is nothing",
        ],
        [dpop, "openid-client pushes a request with a proof, and only its key exchanges the code"],
      ],
    },
    {
      section: "7.1; 7.2",
      says: "A bound token counts with a proof that names it, by its own scheme, and not as a bearer token; the challenge says so.",
      shown: [
        [dpop, "userinfo takes a bound token with a new proof of its key, over GET and POST, and nothing else"],
        [
          dpop,
          "userinfo names both schemes and the algorithms, and the error in the challenge of the scheme that was used",
        ],
      ],
    },
    {
      section: "10; 10.1",
      says: "A request that names a key, by dpop_jkt or the proof that it is pushed with, gets a code for that key alone.",
      shown: [
        [dpop, "a code whose request named a key is exchanged by that alone"],
        [
          dpop,
          "a proof that comes with a pushed request counts once, is for that endpoint, and of the key that is named",
        ],
      ],
    },
    {
      section: "5.2",
      says: "A client that wants only bound tokens gets no other.",
      shown: [[dpop, "an application with the switch gets tokens only with a proof, and a code stays good without"]],
    },
  ],
  "FAPI 2.0 Security Profile": [
    {
      section: "5.3.2.1",
      says: "Clients prove themselves by a signed assertion whose audience is the issuer; each counts once.",
      shown: [[table, "an assertion is of its client, for us, of now, and counts once of ten at once"]],
    },
    {
      section: "5.3.2.2",
      says: "PKCE is by S256, codes are short-lived and count once, and redirects after a form are by 303.",
      shown: [
        [asked, "code_challenge_method plain"],
        [code, "a code that has expired is worth nothing"],
        [attacks, "authorize by POST leads to the same page by 303"],
      ],
    },
  ],
};
