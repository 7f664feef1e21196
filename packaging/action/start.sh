#!/usr/bin/env bash
# The step of action.yml: finds or downloads the binary, starts the server on a free port and sets the variables of the
# steps that follow. The server ends with the job.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/keywright.XXXXXX")
binary=${INPUT_BINARY:-}
if [ -z "$binary" ]; then
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
    Linux-aarch64) target=aarch64-unknown-linux-gnu ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    *) echo "keywright has no binary for $(uname -s) on $(uname -m): name one with the input binary" >&2; exit 1 ;;
  esac
  name=keywright-$INPUT_VERSION-$target
  releases=https://github.com/${INPUT_REPOSITORY:-keywright/keywright}/releases/download/v$INPUT_VERSION
  for file in "$name.tar.gz" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$releases/$file"
  done
  sum=$(if command -v sha256sum >/dev/null; then sha256sum "$folder/$name.tar.gz"; else shasum -a 256 "$folder/$name.tar.gz"; fi)
  grep --quiet --fixed-strings "${sum%% *}  $name.tar.gz" "$folder/SHA256SUMS" ||
    { echo "$name.tar.gz does not have the checksum of its release" >&2; exit 1; }
  tar -xzf "$folder/$name.tar.gz" -C "$folder"
  binary=$folder/$name/keywright
fi

# The input is a list of words.
# shellcheck disable=SC2086
nohup "$binary" serve --port 0 --ready-file "$folder/ready.json" ${INPUT_ARGUMENTS:-} >"$folder/log.txt" 2>&1 &
server=$!
for _ in $(seq 300); do
  [ -e "$folder/ready.json" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$folder/log.txt" >&2; exit 1; }
  sleep 0.1
done
[ -e "$folder/ready.json" ] || { echo "the server is not ready after 30 s" >&2; cat "$folder/log.txt" >&2; exit 1; }
endpoint=$(sed -n 's/^ *"endpoint": "\(.*\)".*/\1/p' "$folder/ready.json")

echo "endpoint=$endpoint" >>"$GITHUB_OUTPUT"
{
  echo "AWS_ENDPOINT_URL_DYNAMODB=$endpoint"
  echo "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=$endpoint"
  echo "AWS_REGION=us-east-1"
  echo "AWS_DEFAULT_REGION=us-east-1"
  echo "AWS_ACCESS_KEY_ID=local"
  echo "AWS_SECRET_ACCESS_KEY=local"
} >>"$GITHUB_ENV"
dirname "$binary" >>"$GITHUB_PATH"
echo "keywright serves $endpoint"
