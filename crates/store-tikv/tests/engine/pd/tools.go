//go:build tools

// Package tools pins the program that the tests of the store on TiKV start.
package tools

import _ "github.com/tikv/pd/cmd/pd-server"
