package usecase

import (
	"fmt"
	"reflect"
	"time"
)

// copyValue copies a value so that nothing reachable from the copy is shared
// with the original.
type copyValue func(reflect.Value) reflect.Value

// newCopier returns a function that copies values of t deeply, or an error with
// the path of what cannot be copied.
func newCopier(t reflect.Type) (func(any) any, error) {
	c, err := copierOf(t, t.String(), map[reflect.Type]bool{})
	if err != nil {
		return nil, err
	}
	if c == nil { // a plain value: the interface holds a copy already
		return func(in any) any { return in }, nil
	}
	return func(in any) any { return c(reflect.ValueOf(in)).Interface() }, nil
}

// copierOf returns nil for a type whose values share nothing. above holds the
// types that contain it.
func copierOf(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	if t == reflect.TypeFor[time.Time]() { // its *Location never changes
		return nil, nil
	}
	if above[t] {
		return nil, fmt.Errorf("%s: %v contains itself and cannot be copied", path, t)
	}
	above[t] = true
	defer delete(above, t)
	switch t.Kind() {
	case reflect.Struct:
		return structCopier(t, path, above)
	case reflect.Array:
		return arrayCopier(t, path, above)
	case reflect.Slice:
		return sliceCopier(t, path, above)
	case reflect.Map:
		return mapCopier(t, path, above)
	case reflect.Pointer:
		return pointerCopier(t, path, above)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return nil, fmt.Errorf("%s: %v cannot be copied", path, t)
	default:
		return nil, nil
	}
}

func structCopier(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	fields := map[int]copyValue{}
	for i := range t.NumField() {
		f := t.Field(i)
		c, err := copierOf(f.Type, path+"."+f.Name, above)
		if err != nil {
			return nil, err
		}
		if c != nil && !f.IsExported() {
			return nil, fmt.Errorf("%s.%s: %v in an unexported field cannot be copied", path, f.Name, f.Type)
		}
		if c != nil {
			fields[i] = c
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return func(v reflect.Value) reflect.Value {
		to := reflect.New(t).Elem()
		to.Set(v)
		for i, c := range fields {
			to.Field(i).Set(c(v.Field(i)))
		}
		return to
	}, nil
}

func arrayCopier(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	c, err := copierOf(t.Elem(), path+"[]", above)
	if err != nil || c == nil {
		return nil, err
	}
	return func(v reflect.Value) reflect.Value {
		to := reflect.New(t).Elem()
		for i := range v.Len() {
			to.Index(i).Set(c(v.Index(i)))
		}
		return to
	}, nil
}

func sliceCopier(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	c, err := copierOf(t.Elem(), path+"[]", above)
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) reflect.Value {
		if v.IsNil() {
			return v
		}
		to := reflect.MakeSlice(t, v.Len(), v.Len())
		reflect.Copy(to, v)
		for i := range v.Len() {
			if c != nil {
				to.Index(i).Set(c(v.Index(i)))
			}
		}
		return to
	}, nil
}

func mapCopier(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	if c, err := copierOf(t.Key(), path+"[key]", above); err != nil || c != nil {
		return nil, fmt.Errorf("%s: a map with keys of type %v cannot be copied", path, t.Key())
	}
	c, err := copierOf(t.Elem(), path+"[]", above)
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) reflect.Value {
		if v.IsNil() {
			return v
		}
		to := reflect.MakeMapWithSize(t, v.Len())
		for entry := v.MapRange(); entry.Next(); {
			value := entry.Value()
			if c != nil {
				value = c(value)
			}
			to.SetMapIndex(entry.Key(), value)
		}
		return to
	}, nil
}

func pointerCopier(t reflect.Type, path string, above map[reflect.Type]bool) (copyValue, error) {
	c, err := copierOf(t.Elem(), path, above)
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) reflect.Value {
		if v.IsNil() {
			return v
		}
		to := reflect.New(t.Elem())
		if c != nil {
			to.Elem().Set(c(v.Elem()))
		} else {
			to.Elem().Set(v.Elem())
		}
		return to
	}, nil
}
