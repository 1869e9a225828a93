package waiting
import ("testing";"context";"os";"time";"fmt")
func TestTry(t *testing.T){
 b:=time.Now()
 f,err:=Run(context.Background(),Options{Weft:os.Getenv("TRYWEFT"),Rounds:1,Warn:func(s string){fmt.Println(s)}})
 if err!=nil{t.Fatal(err)}
 fmt.Println(time.Since(b)); _=f.Print(os.Stdout)
}
