#!/bin/sh
# Builds the image without a container engine, tests its commands, and measures it: `sh deploy/try-image.sh [folder]`.
# Needs root and Debian's buildah and mmdebstrap. The two base images are built from Debian's packages and from npm's
# Node, so no image registry is needed. Fails if the compressed image is larger than 120 MB (10^6 bytes).
set -eu
cd "$(dirname "$0")/.."
for tool in buildah mmdebstrap; do
  command -v $tool >/dev/null || { echo "skipped: the image is not tried, because $tool is missing"; exit 0; }
done
work=${1:-$(mktemp -d)}
mkdir -p "$work"
container=
trap '[ -z "$container" ] || images rm "$container" >/dev/null' EXIT

images() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
say() { echo "ok: $*"; }

# The packages and files of debian:bookworm-slim: without Perl, which only usrmerge brings, documents and other languages.
debian() {
  mmdebstrap --quiet --variant=minbase --include=tzdata,usr-is-merged \
    --customize-hook='chroot "$1" apt-get -qy purge --auto-remove usrmerge >/dev/null' \
    --customize-hook='chroot "$1" apt-get -qy purge --auto-remove perl perl-modules-5.36 libperl5.36 >/dev/null' \
    --customize-hook='rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/info/* "$1"/usr/share/locale/*' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/cache/debconf/*-old "$1"/var/log/*' \
    bookworm "$work/debian.tar"
  base=$(images from scratch)
  images add "$base" "$work/debian.tar" / >/dev/null
  images commit --quiet --format docker --rm "$base" docker.io/library/debian:bookworm-slim >/dev/null
}

# Debian with Node and npm, and with the authorities and settings by which npm reaches its registry from this machine.
node() {
  runtime=$(sh bin/run sh -c 'dirname "$(readlink -f "$(command -v node)")"')
  npm=$(npm root --global 2>/dev/null)/npm
  base=$(images from docker.io/library/debian:bookworm-slim)
  images copy "$base" "$runtime/node" /usr/local/bin/ >/dev/null
  images copy "$base" "$npm" /usr/local/lib/node_modules/npm >/dev/null
  images run --isolation chroot "$base" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  authorities=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
  [ ! -e "$authorities" ] || images copy "$base" "$authorities" /etc/ssl/certs/ca-certificates.crt >/dev/null
  printf 'cafile=/etc/ssl/certs/ca-certificates.crt\nregistry=%s\n' "$(npm config get registry 2>/dev/null)" >"$work/npmrc"
  images copy "$base" "$work/npmrc" /usr/local/etc/npmrc >/dev/null
  images commit --quiet --format docker --rm "$base" docker.io/library/node:24-bookworm-slim >/dev/null
}

images inspect --type image docker.io/library/debian:bookworm-slim >/dev/null 2>&1 || debian
images inspect --type image docker.io/library/node:24-bookworm-slim >/dev/null 2>&1 || node
# The images made here have no digest that the Dockerfile could name.
sed 's/@sha256:[0-9a-f]*//' deploy/Dockerfile >"$work/Dockerfile"
images build --isolation chroot --format docker --pull-never --file "$work/Dockerfile" --tag postern . >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2; exit 1; }
say "the image is built by deploy/Dockerfile"

# The layers as they are pushed and pulled: of Debian, and ours.
images push --quiet --format docker postern "dir:$work/pushed"
sh bin/run node -e '
  const { layers } = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
  const of = (some) => some.reduce((sum, { size }) => sum + size, 0);
  console.log(of(layers), of(layers.slice(1)));' "$work/pushed/manifest.json" >"$work/bytes"
read -r all ours <"$work/bytes"
figures="$((all / 1000000)) MB compressed, of which $((ours / 1000000)) MB are on top of Debian"
[ "$all" -le 120000000 ] || { echo "the image is too large: $figures" >&2; exit 1; }
say "$figures"

# The network is that of this machine, so the port is one that is free here.
port=$(sh bin/run node -e 'const s = require("node:net").createServer().listen(0, () => s.close(console.log(s.address().port)))')
mkdir -p "$work/tls"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=id.example.com -keyout "$work/tls/key.pem" -out "$work/tls/cert.pem" 2>/dev/null
chmod 644 "$work/tls/key.pem"
container=$(images from --pull-never localhost/postern)
images run --isolation chroot --env PORT="$port" --volume "$work/tls:/tls:ro" "$container" -- sh -eu -c '
  fail() { echo "$*" >&2; cat /tmp/log >&2; exit 1; }
  begin() {
    "$@" >/tmp/log 2>&1 &
    node=$!
    until postern health >/tmp/health 2>&1; do kill -0 $node || fail "the node ended"; sleep 1; done
    echo "ok: $(cat /tmp/health)"
  }
  end() { kill -TERM $node; wait $node || fail "SIGTERM: code $?"; }
  try() { "$@" >/tmp/out 2>&1 || { cat /tmp/out >&2; fail "$*"; }; echo "ok: $*"; }

  [ "$(id -u)" = 1000 ] || fail "runs as $(id)"
  [ ! -w /app ] && [ ! -w /usr/local/bin/node ] || fail "the program may change itself"
  [ "$(find / -xdev -type f -name node -size +1M 2>/dev/null)" = /usr/local/bin/node ] || fail "there is a second Node"
  ! command -v npm >/dev/null || fail "there is npm"
  try postern help
  try postern postern --version
  ! postern health >/tmp/out 2>&1 || fail "healthy where nothing listens"
  begin postern
  [ ! -e /data/postgres ] || [ -z "$(find /data/postgres/ -name "runtime-*")" ] || fail "PostgreSQL is copied into the data folder"
  for command in bootstrap doctor migrate recover health; do try postern $command; done
  try postern proto /tmp/contract
  for path in docs openapi.json console/; do
    try node -e "fetch(process.argv[1]).then(({ ok }) => process.exit(ok ? 0 : 1))" "http://127.0.0.1:$PORT/$path"
  done
  # The files of the console are in the image as they are sent: by their hash, and compressed.
  for kind in js css; do
    for file in /app/dist/console/assets/*-????????.$kind; do
      [ -s "$file" ] && [ -s "$file.br" ] && [ -s "$file.gz" ] || fail "the image lacks $file"
    done
  done
  postern export >/tmp/lines && try postern import /tmp/lines
  try sh /app/bin/run node /app/dist/main.js doctor
  end
  export TLS_CERT_FILE=/tls/cert.pem TLS_KEY_FILE=/tls/key.pem
  begin postern
  end'
say "the commands work in it, as a user that is not root, with the one Node that it has"
