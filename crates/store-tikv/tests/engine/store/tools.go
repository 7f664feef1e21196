//go:build tools

// Package tools pins the program that the tests of the store on TiKV start.
package tools

import _ "github.com/ngaut/unistore/cmd/unistore-server"
