// Runs shared scenarios with the Go SDK. Usage: run_scenario ENDPOINT SCENARIO [ENDPOINT SCENARIO]
//
// Requests and responses are made from JSON and compared with it by reflection: the SDK's members have the names of
// the service's.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const retries = 100

type step struct {
	Name, Operation string
	Input, Expect   map[string]any
	Absent          []string
	Error           *struct{ Code, Message string }
	Retry           bool `json:"retry_until_expected"`
}

var (
	attribute = reflect.TypeFor[types.AttributeValue]()
	instant   = reflect.TypeFor[time.Time]()
	metadata  = reflect.TypeFor[middleware.Metadata]()
)

// value makes a value of the type from JSON.
func value(from any, to reflect.Type) (reflect.Value, error) {
	if to == attribute {
		return member(from)
	}
	made := reflect.New(to).Elem()
	switch to.Kind() {
	case reflect.Pointer:
		inner, err := value(from, to.Elem())
		if err != nil {
			return made, err
		}
		made.Set(reflect.New(to.Elem()))
		made.Elem().Set(inner)
	case reflect.Struct:
		for name, part := range from.(map[string]any) {
			field := made.FieldByName(name)
			if !field.IsValid() {
				return made, fmt.Errorf("%s has no member %s", to, name)
			}
			inner, err := value(part, field.Type())
			if err != nil {
				return made, err
			}
			field.Set(inner)
		}
	case reflect.Map:
		made.Set(reflect.MakeMap(to))
		for name, part := range from.(map[string]any) {
			inner, err := value(part, to.Elem())
			if err != nil {
				return made, err
			}
			made.SetMapIndex(reflect.ValueOf(name).Convert(to.Key()), inner)
		}
	case reflect.Slice:
		if to.Elem().Kind() == reflect.Uint8 {
			bytes, err := base64.StdEncoding.DecodeString(from.(string))
			made.SetBytes(bytes)
			return made, err
		}
		for _, part := range from.([]any) {
			inner, err := value(part, to.Elem())
			if err != nil {
				return made, err
			}
			made = reflect.Append(made, inner)
		}
	default:
		made.Set(reflect.ValueOf(from).Convert(to))
	}
	return made, nil
}

// member makes an attribute value: an object with one member that names its type.
func member(from any) (reflect.Value, error) {
	kinds := map[string]types.AttributeValue{
		"S": &types.AttributeValueMemberS{}, "N": &types.AttributeValueMemberN{}, "B": &types.AttributeValueMemberB{},
		"SS": &types.AttributeValueMemberSS{}, "NS": &types.AttributeValueMemberNS{}, "BS": &types.AttributeValueMemberBS{},
		"M": &types.AttributeValueMemberM{}, "L": &types.AttributeValueMemberL{},
		"BOOL": &types.AttributeValueMemberBOOL{}, "NULL": &types.AttributeValueMemberNULL{},
	}
	for name, part := range from.(map[string]any) {
		made := reflect.ValueOf(kinds[name])
		inner, err := value(part, made.Elem().FieldByName("Value").Type())
		if err != nil {
			return made, err
		}
		made.Elem().FieldByName("Value").Set(inner)
		return made, nil
	}
	return reflect.Value{}, errors.New("an attribute value without a type")
}

// plain is a response as JSON; members that are not there are left out.
func plain(from reflect.Value) any {
	if from.Kind() == reflect.Interface || from.Kind() == reflect.Pointer {
		if from.IsNil() {
			return nil
		}
		name := from.Elem().Type().Name()
		if kind, found := strings.CutPrefix(name, "AttributeValueMember"); found {
			return map[string]any{kind: plain(from.Elem().FieldByName("Value"))}
		}
		return plain(from.Elem())
	}
	switch from.Kind() {
	case reflect.Struct:
		if from.Type() == instant {
			return float64(from.Interface().(time.Time).Unix())
		}
		members := map[string]any{}
		for index := range from.NumField() {
			field := from.Type().Field(index)
			if field.IsExported() && field.Type != metadata {
				if inner := plain(from.Field(index)); inner != nil {
					members[field.Name] = inner
				}
			}
		}
		return members
	case reflect.Map:
		if from.IsNil() {
			return nil
		}
		members := map[string]any{}
		for _, key := range from.MapKeys() {
			members[key.String()] = plain(from.MapIndex(key))
		}
		return members
	case reflect.Slice:
		if from.IsNil() {
			return nil
		}
		if from.Type().Elem().Kind() == reflect.Uint8 {
			return base64.StdEncoding.EncodeToString(from.Bytes())
		}
		elements := []any{}
		for index := range from.Len() {
			elements = append(elements, plain(from.Index(index)))
		}
		return elements
	case reflect.String:
		// An enumeration that the response does not have is the empty text.
		if from.String() == "" && from.Type().Name() != "string" {
			return nil
		}
		return from.String()
	case reflect.Int32, reflect.Int64:
		return float64(from.Int())
	default:
		return from.Interface()
	}
}

// differs says the first difference. An object may have more members than expected, a list no more elements.
func differs(expected, actual any, path string) string {
	switch wanted := expected.(type) {
	case map[string]any:
		found, isObject := actual.(map[string]any)
		if !isObject || len(wanted) == 0 && len(found) > 0 && path != "" {
			return fmt.Sprintf("%s: expected %v, got %v", path, expected, actual)
		}
		for name, inner := range wanted {
			if fault := differs(inner, found[name], path+"."+name); fault != "" {
				return fault
			}
		}
	case []any:
		found, isList := actual.([]any)
		if !isList || len(found) != len(wanted) {
			return fmt.Sprintf("%s: expected %d elements, got %v", path, len(wanted), actual)
		}
		for index, inner := range wanted {
			if fault := differs(inner, found[index], fmt.Sprintf("%s[%d]", path, index)); fault != "" {
				return fault
			}
		}
	default:
		if expected != actual {
			return fmt.Sprintf("%s: expected %v, got %v", path, expected, actual)
		}
	}
	return ""
}

// call runs an operation by its name.
func call(client *dynamodb.Client, one step) (map[string]any, error) {
	method := reflect.ValueOf(client).MethodByName(one.Operation)
	if !method.IsValid() {
		return nil, fmt.Errorf("the SDK has no operation %s", one.Operation)
	}
	input, err := value(one.Input, method.Type().In(1))
	if err != nil {
		return nil, err
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), input})
	if err, failed := results[1].Interface().(error); failed {
		return nil, err
	}
	return plain(results[0]).(map[string]any), nil
}

// fault says what is wrong with a step; nothing if it went as expected.
func fault(client *dynamodb.Client, one step) string {
	output, err := call(client, one)
	var known smithy.APIError
	switch {
	case one.Error != nil && errors.As(err, &known):
		// The SDK has no types for the errors that all services have.
		class := reflect.TypeOf(known).Elem().Name()
		if class != one.Error.Code && (class != "GenericAPIError" || one.Error.Code != "ValidationException") {
			return fmt.Sprintf("got %s as a %s", known.ErrorCode(), class)
		}
		if known.ErrorCode() == one.Error.Code && known.ErrorMessage() == one.Error.Message {
			return ""
		}
		return fmt.Sprintf("got %s: %s", known.ErrorCode(), known.ErrorMessage())
	case err != nil:
		return err.Error()
	case one.Error != nil:
		return "expected " + one.Error.Code + ", got a response"
	}
	for _, name := range one.Absent {
		if _, found := output[name]; found {
			return name + " is there"
		}
	}
	return differs(one.Expect, output, "")
}

// run runs a scenario against an endpoint, and ends the program at a fault.
func run(endpoint, scenario string) {
	text, err := os.ReadFile(scenario)
	var steps []step
	if err == nil {
		err = json.Unmarshal(text, &steps)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	for _, one := range steps {
		found := fault(client, one)
		for attempt := 0; found != "" && one.Retry && attempt < retries; attempt++ {
			time.Sleep(50 * time.Millisecond)
			found = fault(client, one)
		}
		if found != "" {
			fmt.Fprintf(os.Stderr, "%s: %s\n", one.Name, found)
			os.Exit(1)
		}
	}
	fmt.Printf("%d steps passed\n", len(steps))
}

func main() {
	for place := 1; place+1 < len(os.Args); place += 2 {
		run(os.Args[place], os.Args[place+1])
	}
}
