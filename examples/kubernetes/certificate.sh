#!/bin/sh
# Makes an authority (ca.crt, ca.key) in this folder, unless it is there, and a certificate of the control plane for a year (tls.crt,
# tls.key). Run it again to renew the certificate: clients keep the authority. Needs openssl 1.1.1 or newer.
set -eu
umask 077
service=grpc-xds
namespace=grpc-xds
domain=cluster.local

if [ ! -e ca.key ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -keyout ca.key -out ca.crt -subj "/CN=$service"
fi
names="DNS:$service.$namespace.svc.$domain,DNS:$service-replicas.$namespace.svc.$domain"
names="$names,DNS:$service.$namespace.svc,DNS:$service-replicas.$namespace.svc"
extensions=$(mktemp)
trap 'rm -f "$extensions" tls.csr' EXIT
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n' \
  "$names" >"$extensions"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
  -keyout tls.key -out tls.csr -subj "/CN=$service"
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 \
  -extfile "$extensions" -out tls.crt
