//go:build tools

// Package apiserver names the program that this module builds.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
