// Command peer is grpc-go as the other side of grpc-xds: its xDS client, its interop servers, and the control plane
// go-control-plane. Each is directed by lines of JSON on the standard input, and answers every line with one.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

// answer is what a command is answered with; it must become a JSON object.
type answer any

// session answers commands.
type session interface {
	handle(command []byte) (answer, error)
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: peer client | debugger | encoder | authorization | route-lookups | server NAME... | secure-servers | xds-servers | measured-servers | control-plane snapshot|linear PORT")
	}
	var program session
	var greeting answer
	var err error
	switch os.Args[1] {
	case "client":
		program, greeting = newClient(), struct{}{}
	case "server":
		program, greeting, err = newServers(os.Args[2:])
	case "secure-servers":
		program, greeting = newSecureServers(), struct{}{}
	case "xds-servers":
		program, greeting = newXdsServers(), struct{}{}
	case "measured-servers":
		program, greeting = newMeasuredServers(), struct{}{}
	case "debugger":
		program, greeting = newDebugger(), struct{}{}
	case "authorization":
		program, greeting, err = newAuthorization()
	case "route-lookups":
		program, greeting, err = newRouteLookups()
	case "encoder":
		program, greeting, err = newEncoder()
	case "control-plane":
		program, greeting, err = newControlPlane(os.Args[2:])
	default:
		err = fmt.Errorf("%q is not known", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
	serve(program, greeting)
}

// serve answers lines until the input ends.
func serve(program session, greeting answer) {
	output := json.NewEncoder(os.Stdout)
	say := func(what answer) {
		if err := output.Encode(what); err != nil {
			log.Fatal(err)
		}
	}
	say(greeting)
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	for input.Scan() {
		result, err := program.handle(input.Bytes())
		if err != nil {
			result = map[string]string{"error": err.Error()}
		}
		say(result)
	}
}
