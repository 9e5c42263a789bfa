import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { contractFiles } from "./contract.ts";
import { dist, openWorkshop } from "./workshop.ts";

// protobuf of these versions reads the output of this generator, and so does any newer one of the same major.
const tools = ["grpcio-tools==1.85.1", "build==1.6.1", "setuptools==84.2.1"];

/** Packs the library for PyPI: a wheel and the sources. */
export function packPython(descriptors: string): string[] {
  const { folder, run, stamp, supply } = openWorkshop("python");
  const python = join(dist, "python-tools/bin/python");
  if (!existsSync(python)) run("python3", "-m", "venv", join(dist, "python-tools"));
  run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...tools);
  supply("postern");
  stamp("pyproject.toml");
  const out = ["--python_out=.", "--pyi_out=.", "--grpc_python_out=."];
  run(python, "-m", "grpc_tools.protoc", `--descriptor_set_in=${descriptors}`, ...out, ...contractFiles());
  run(python, "-m", "build", "--no-isolation", "--outdir", "packed");
  return readdirSync(join(folder, "packed")).map((name) => join(folder, "packed", name));
}
