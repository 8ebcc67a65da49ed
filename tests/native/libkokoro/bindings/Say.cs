// Says a text from C# by P/Invoke: BUNDLE TEXT VOICE SPEED SEED OUT, a file of float32 numbers.
using System;
using System.Globalization;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

static class Kokoro {
  [StructLayout(LayoutKind.Sequential)]
  public struct Error {
    public int Code;
    [MarshalAs(UnmanagedType.ByValArray, SizeConst = 2044)] public byte[] Text;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct Request {
    public IntPtr Text, Voice; // UTF-8, with a 0 behind it
    public double Speed;
    public int Markup, Omit;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct Word {
    public IntPtr Phonemes;
    public long StartSample, EndSample;
    public int Spoken;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct Place {
    public UIntPtr Start, End;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct Speech {
    public UIntPtr Samples;
    public IntPtr Audio, Durations;
    public UIntPtr TokenCount;
    public IntPtr Words;
    public UIntPtr WordCount;
    public IntPtr Notice, Places;
  }

  [DllImport("kokoro")] public static extern int kokoro_open(byte[] folder, byte[] sha256, int threads, out IntPtr bundle, out Error error);
  [DllImport("kokoro")] public static extern int kokoro_plan_text(IntPtr bundle, ref Request text, out IntPtr plan, out Error error);
  [DllImport("kokoro")] public static extern int kokoro_next_piece(IntPtr plan, out IntPtr speech, out Error error);
  [DllImport("kokoro")] public static extern int kokoro_decode(IntPtr bundle, IntPtr speech, ulong seed, float[] noise, UIntPtr count, out Error error);
  [DllImport("kokoro")] public static extern void kokoro_free(IntPtr speech);
  [DllImport("kokoro")] public static extern void kokoro_free_plan(IntPtr plan);
  [DllImport("kokoro")] public static extern void kokoro_close(IntPtr bundle);

  public static void Check(int code, Error error) {
    if (code != 0) throw new InvalidOperationException(Encoding.UTF8.GetString(error.Text, 0, Array.IndexOf(error.Text, (byte)0)));
  }

  public static byte[] Utf8(string text) {
    return Encoding.UTF8.GetBytes(text + "\0");
  }

  public static string String(IntPtr text) {
    int size = 0;
    while (Marshal.ReadByte(text, size) != 0) ++size;
    byte[] bytes = new byte[size];
    Marshal.Copy(text, bytes, 0, size);
    return Encoding.UTF8.GetString(bytes);
  }

  public static T Element<T>(IntPtr array, int place) {
    return Marshal.PtrToStructure<T>(array + place * Marshal.SizeOf<T>());
  }
}

static class Say {
  static void Main(string[] arguments) {
    string folder = arguments[0];
    double speed = double.Parse(arguments[3], CultureInfo.InvariantCulture);
    ulong seed = ulong.Parse(arguments[4]);
    byte[] text = Kokoro.Utf8(arguments[1]), voice = Kokoro.Utf8(arguments[2]);
    TextWriter output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
    MemoryStream heard = new MemoryStream();
    // shown in docs/c.md
    Kokoro.Error error;
    IntPtr bundle, plan, piece;
    GCHandle pinned = GCHandle.Alloc(text, GCHandleType.Pinned), named = GCHandle.Alloc(voice, GCHandleType.Pinned);
    var request = new Kokoro.Request { Text = pinned.AddrOfPinnedObject(), Voice = named.AddrOfPinnedObject(), Speed = speed };
    Kokoro.Check(Kokoro.kokoro_open(Kokoro.Utf8(folder), null, 0, out bundle, out error), error);
    Kokoro.Check(Kokoro.kokoro_plan_text(bundle, ref request, out plan, out error), error);
    for (long samples = 0;;) {
      Kokoro.Check(Kokoro.kokoro_next_piece(plan, out piece, out error), error);
      if (piece == IntPtr.Zero) break;
      Kokoro.Check(Kokoro.kokoro_decode(bundle, piece, seed, null, UIntPtr.Zero, out error), error);
      var speech = Marshal.PtrToStructure<Kokoro.Speech>(piece);
      byte[] audio = new byte[sizeof(float) * (int)speech.Samples];
      Marshal.Copy(speech.Audio, audio, 0, audio.Length);
      heard.Write(audio, 0, audio.Length);
      for (int i = 0; i < (int)speech.WordCount; ++i) {
        var word = Kokoro.Element<Kokoro.Word>(speech.Words, i);
        var place = Kokoro.Element<Kokoro.Place>(speech.Places, i);
        string source = Encoding.UTF8.GetString(text, (int)place.Start, (int)place.End - (int)place.Start);
        output.WriteLine($"{samples + word.StartSample} {samples + word.EndSample} {Kokoro.String(word.Phonemes)} {source}");
      }
      samples += (long)speech.Samples;
      Kokoro.kokoro_free(piece);
    }
    Kokoro.kokoro_free_plan(plan);
    Kokoro.kokoro_close(bundle);
    // until here
    output.Flush();
    File.WriteAllBytes(arguments[5], heard.ToArray());
  }
}
